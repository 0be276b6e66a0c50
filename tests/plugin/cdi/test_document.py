"""The CDI document: lowest version, checked against the rules of the specification."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from agent.hardware.types import DeviceNode, HostFile
from plugin.base.errors import InvalidCdi
from plugin.cdi import document as cdi
from plugin.cdi.hook import Hook
from scheduler_core.model.claim import ClaimUid

UID = ClaimUid("uid-1")
LIBRARY = HostFile("/usr/lib/libcuda.so.1", Path("/host/libcuda.so.560"))
NODE = DeviceNode("/dev/nvidia0", Path("/dev/nvidia0"))


def injection(
    name: str = "uid-1-gpu-0",
    device: str = "gpu-0",
    identity: str = "GPU-1",
    nodes: tuple[DeviceNode, ...] = (NODE,),
    files: tuple[HostFile, ...] = (LIBRARY,),
) -> cdi.Injection:
    return cdi.Injection(name=name, device=device, identity=identity, nodes=nodes, files=files)


def test_a_document_says_what_a_container_gets() -> None:
    document = json.loads(cdi.encode(cdi.claim_document("tangram.dev", [injection()])))

    assert document == {
        "cdiVersion": "0.3.0",
        "kind": "tangram.dev/claim",
        "devices": [
            {
                "name": "uid-1-gpu-0",
                "containerEdits": {
                    "env": ["TANGRAM_DEVICE_GPU_0=GPU-1"],
                    "deviceNodes": [{"path": "/dev/nvidia0"}],
                    "mounts": [
                        {
                            "hostPath": "/host/libcuda.so.560",
                            "containerPath": "/usr/lib/libcuda.so.1",
                            "options": ["ro", "nosuid", "nodev", "bind"],
                        }
                    ],
                },
            }
        ],
        "containerEdits": {"env": ["NVIDIA_VISIBLE_DEVICES=void"]},
    }


def test_what_the_devices_of_a_claim_share_stands_in_the_document_once() -> None:
    control = DeviceNode("/dev/nvidiactl", Path("/dev/nvidiactl"))
    socket = HostFile("/run/nvidia-persistenced/socket", Path("/run/s"), is_socket=True)
    gpus = [
        replace(gpu, shared_nodes=(control,), shared_files=(LIBRARY, socket))
        for gpu in (injection(files=()), injection("uid-1-gpu-1", "gpu-1", files=()))
    ]

    document = cdi.claim_document("tangram.dev", [*gpus, injection("uid-1-vf", "vf", nodes=(), files=())])

    common = document.container_edits
    assert [node.path for node in common.device_nodes] == ["/dev/nvidiactl"]
    assert [mount.container_path for mount in common.mounts] == [LIBRARY.path, socket.path]
    assert [mount.options for mount in common.mounts] == [
        ("ro", "nosuid", "nodev", "bind"),
        ("ro", "nosuid", "nodev", "noexec", "bind"),
    ]
    own = [[node.path for node in device.container_edits.device_nodes] for device in document.devices]
    assert own == [["/dev/nvidia0"], ["/dev/nvidia0"], []]
    assert not any(device.container_edits.mounts for device in document.devices)


def test_nvidias_program_tells_the_loaders_cache_of_every_folder_with_libraries() -> None:
    libraries = [HostFile(f"{folder}/libcuda.so.1", Path("/libcuda.so.560")) for folder in ("/b", "/a")]
    smi = HostFile("/usr/bin/nvidia-smi", Path("/usr/bin/nvidia-smi"))
    gpu = replace(injection(), shared_files=(*libraries, smi))

    document = cdi.claim_document("tangram.dev", [gpu], Path("/usr/bin/nvidia-cdi-hook"))

    (hook,) = document.container_edits.hooks
    assert (hook.hook_name, hook.path) == ("createContainer", "/usr/bin/nvidia-cdi-hook")
    assert hook.args == ("nvidia-cdi-hook", "update-ldcache", "--folder", "/a", "--folder", "/b")
    assert hook.env, "runtimes give a hook without variables those of the image"


def test_nvidias_program_does_not_run_for_a_claim_without_gpus() -> None:
    document = cdi.claim_document("tangram.dev", [injection()], Path("/usr/bin/nvidia-cdi-hook"))

    assert document.container_edits.hooks == ()


def test_a_shared_node_that_is_elsewhere_on_the_host_counts_for_the_version() -> None:
    elsewhere = DeviceNode("/dev/nvidiactl", Path("/run/driver/dev/nvidiactl"))

    document = cdi.claim_document("tangram.dev", [replace(injection(), shared_nodes=(elsewhere,))])

    assert document.cdi_version == "0.5.0"


def test_a_node_that_is_elsewhere_on_the_host_says_where() -> None:
    node = DeviceNode("/dev/nvidia0", Path("/run/driver/dev/nvidia0"))

    document = cdi.claim_document("tangram.dev", [injection(nodes=(node,))])

    assert document.devices[0].container_edits.device_nodes[0].host_path == "/run/driver/dev/nvidia0"


def test_a_node_that_is_not_there_is_made_from_its_numbers() -> None:
    node = DeviceNode("/dev/nvidia-caps/nvidia-cap30", None, 235, 30)

    document = cdi.claim_document("tangram.dev", [injection(nodes=(node,))])

    made = document.devices[0].container_edits.device_nodes[0]
    assert (made.type, made.major, made.minor, made.host_path) == ("c", 235, 30, None)


@pytest.mark.parametrize(
    ("driver_class", "name", "nodes", "version"),
    [
        ("claim", "uid-1", (NODE,), "0.3.0"),
        ("claim", "0b7a-1", (NODE,), "0.5.0"),
        ("claim", "uid-1", (DeviceNode("/dev/nvidia0", Path("/elsewhere")),), "0.5.0"),
        ("claim", "uid-1", (DeviceNode("/dev/nvidia0", None, 195, 0),), "0.3.0"),
        ("claim.with.dots", "uid-1", (NODE,), "0.6.0"),
    ],
)
def test_the_version_is_the_lowest_that_knows_every_field_in_use(
    driver_class: str, name: str, nodes: tuple[DeviceNode, ...], version: str
) -> None:
    devices = cdi.claim_document("tangram.dev", [injection(name=name, nodes=nodes)]).devices

    assert cdi.minimum_version(f"tangram.dev/{driver_class}", devices) == version


@pytest.mark.parametrize(
    ("driver", "injections", "field"),
    [
        ("9tangram.dev", [injection()], "kind"),
        ("tangram.dev-", [injection()], "kind"),
        ("", [injection()], "kind"),
        ("tangram.dev", [], "devices"),
        ("tangram.dev", [injection(), injection()], "unique"),
        ("tangram.dev", [injection(name="-a")], "devices"),
        ("tangram.dev", [injection(name="a/b")], "devices"),
        ("tangram.dev", [injection(name="")], "devices"),
        ("tangram.dev", [injection(identity="a\nEVIL=1")], "env"),
        ("tangram.dev", [injection(nodes=(DeviceNode("dev/nvidia0", None, 195, 0),))], "deviceNodes"),
        ("tangram.dev", [injection(nodes=(DeviceNode("/dev/nvidia0", None),))], "deviceNodes"),
        ("tangram.dev", [injection(nodes=(DeviceNode("/dev/nvidia0", Path("relative")),))], "deviceNodes"),
        ("tangram.dev", [injection(files=(HostFile("relative", Path("/host")),))], "mounts"),
        ("tangram.dev", [injection(files=(HostFile("/path", Path("relative")),))], "mounts"),
    ],
)
def test_a_document_that_a_runtime_would_refuse_is_never_made(
    driver: str, injections: list[cdi.Injection], field: str
) -> None:
    with pytest.raises(InvalidCdi, match=field):
        cdi.claim_document(driver, injections)


def test_variables_of_two_devices_differ() -> None:
    names = {cdi.environment_name(device) for device in ("gpu-0-mig-1g-5gb-1", "gpu-0-mig-1g-5gb-me-1")}

    assert names == {"TANGRAM_DEVICE_GPU_0_MIG_1G_5GB_1", "TANGRAM_DEVICE_GPU_0_MIG_1G_5GB_ME_1"}


def test_no_field_is_written_that_podman_would_not_know() -> None:
    known = {
        "cdiVersion", "kind", "devices", "containerEdits", "name", "env", "deviceNodes", "mounts",
        "path", "hostPath", "type", "major", "minor", "containerPath", "options",
        "hooks", "hookName", "args", "timeout",
    }  # fmt: skip

    structs = (cdi.Document, cdi.Device, cdi.Edits, cdi.Node, cdi.Mount, Hook)

    assert {field.encode_name for each in structs for field in msgspec.structs.fields(each)} == known


@pytest.mark.parametrize(
    ("hook", "field"),
    [
        (Hook(hook_name="prestart", path="/bin/sh"), "createRuntime"),
        (Hook(hook_name="createRuntime", path="sh"), "path must be absolute"),
    ],
)
def test_a_hook_that_no_runtime_would_call_is_refused(hook: Hook, field: str) -> None:
    with pytest.raises(InvalidCdi, match=field):
        cdi.claim_document("tangram.dev", [replace(injection(), hook=hook)])
