"""What containers need of a claim's devices, as the host names it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from devices_of_kinds import modes_of, vfs_of, waiting_of

from agent.hardware.errors import NotFound
from agent.hardware.ports import Machine
from agent.hardware.types import DeviceNode, GpuUuid, HostFile
from plugin.base.errors import NotReady
from plugin.cdi.hook import HookProgram
from plugin.kinds.injection import injections
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition
from plugin.kinds.registry import ClaimedDevice
from plugin.kinds.whole_gpus.gpu_partition import ClaimedGpuPartition
from plugin.kinds.whole_gpus.whole_gpu import ClaimedGpu
from plugin.machine.context import Context
from plugin.machine.node import Node
from scheduler_core.model.claim import ClaimUid

UID = ClaimUid("u1")
HALF = "gpu-0-mig-3g-20gb-4-7"
HOOK = HookProgram(Path("/hook"))


class CountingFiles:
    """The driver's files of a machine; counts the questions."""

    def __init__(self, files: Any) -> None:
        self._files = files
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(self._files, name)


class FixedFiles:
    """Driver files that are the same for every GPU."""

    def __init__(self, node: DeviceNode) -> None:
        self._node = node

    def gpu_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        return ()

    def control_nodes(self) -> tuple[DeviceNode, ...]:
        return (self._node,)

    def compute_nodes(self) -> tuple[DeviceNode, ...]:
        return ()

    def graphics_nodes(self, bdf: str) -> tuple[DeviceNode, ...]:
        return ()

    def sockets(self) -> tuple[HostFile, ...]:
        return ()

    def libraries(self, driver_version: str) -> tuple[HostFile, ...]:
        return ()


def context_of(bench: Any, machine: Machine | None = None, host_root: Path = Path("/")) -> Context:
    node = Node(bench.machine.readers, bench.node, "tangram.dev").snapshot
    return Context(
        machine or bench.machine,
        node,
        host_root,
        waiting_of(bench),
        tuple,
        vfs_of(bench),
        modes_of(bench, machine=machine),
    )


def whole(gpu: GpuUuid, name: str = "gpu-0") -> ClaimedDevice:
    cdi_id = f"tangram.dev/claim={UID}-{name}"
    return ClaimedGpu(requests=("r",), pool="n", device=name, cdi_id=cdi_id, gpu_uuid=gpu)


def test_what_the_devices_of_a_claim_share_is_asked_for_once(bench: Any) -> None:
    files = CountingFiles(bench.machine.files)
    devices = [whole(bench.uuid(0)), whole(bench.uuid(1), "gpu-1"), whole(bench.uuid(1), "again")]

    first, second, _ = injections(context_of(bench, replace(bench.machine, files=files)), UID, devices, HOOK)

    shared = [name for name in files.asked if name not in {"gpu_nodes", "graphics_nodes"}]
    assert sorted(shared) == ["compute_nodes", "control_nodes", "libraries", "sockets"]
    assert files.asked.count("gpu_nodes") == 2
    assert first.shared_files == second.shared_files
    assert first.files == second.files == ()
    assert [one.name for one in (first, second)] == ["u1-gpu-0", "u1-gpu-1"]
    assert [one.identity for one in (first, second)] == [bench.uuid(0), bench.uuid(1)]


def test_a_partition_brings_the_nodes_of_all_its_gpus_and_names_them(bench: Any) -> None:
    uuids = (bench.uuid(0), bench.uuid(1))
    pair = ClaimedGpuPartition(requests=("r",), pool="n", device="gpus-0-1", cdi_id="x", gpu_uuids=uuids)

    (found,) = injections(context_of(bench), UID, [pair], HOOK)

    assert {"/dev/nvidia0", "/dev/nvidia1"} <= {node.path for node in found.nodes}
    assert found.identity == ",".join(uuids)


def test_files_below_the_hosts_root_are_named_as_the_host_names_them(bench: Any) -> None:
    root = bench.simulated.root

    (found,) = injections(context_of(bench, host_root=root), UID, [whole(bench.uuid(0))], HOOK)

    hosts = [file.host_path for file in found.shared_files]
    nodes = (*found.shared_nodes, *found.nodes)
    hosts += [node.host_path for node in nodes if node.host_path is not None]
    assert hosts
    assert not any(path.is_relative_to(root) for path in hosts)
    assert all((root / path.relative_to("/")).exists() for path in hosts)


def test_whole_gpus_get_their_drm_nodes_and_mig_partitions_without_graphics_none(bench: Any) -> None:
    half = ClaimedMigPartition(
        requests=("r",),
        pool="n",
        device="half",
        cdi_id="x",
        parent_uuid=bench.uuid(0),
        profile_id=9,
        start=4,
        size=4,
        gi_id=1,
        ci_id=0,
        mig_uuid="MIG-1",
    )
    capabilities = bench.simulated.root / "proc/driver/nvidia/capabilities/gpu0/mig/gi1"
    for folder in (capabilities, capabilities / "ci0"):
        folder.mkdir(parents=True)
        (folder / "access").write_text("DeviceFileMinor: 12\n")

    found = injections(context_of(bench), UID, [whole(bench.uuid(0)), half], HOOK)

    drawing = [[node.path for node in one.nodes if "/dri/" in node.path] for one in found]
    assert drawing == [["/dev/dri/card1", "/dev/dri/renderD128"], []]


def test_a_mig_partition_with_graphics_gets_the_drm_nodes_of_its_gpu(bench: Any) -> None:
    bench.prepare("u1", HALF)
    (held,) = bench.records()[0].devices
    context = context_of(bench)
    published = context.node.devices.by_name[HALF]
    drawing = replace(published, profile=replace(published.profile, name="3g.20gb+gfx"))  # type: ignore[call-arg, union-attr]
    devices = replace(context.node.devices, by_name={HALF: drawing})

    (found,) = injections(replace(context, node=replace(context.node, devices=devices)), UID, [held], HOOK)

    assert {"/dev/dri/card1", "/dev/dri/renderD128"} <= {node.path for node in found.nodes}


def without_unified_memory(bench: Any) -> None:
    root = bench.simulated.root
    for node in ("nvidia-uvm", "nvidia-uvm-tools"):
        (root / "dev" / node).unlink()
    devices = root / "proc/devices"
    devices.write_text(devices.read_text().replace("510 nvidia-uvm\n", ""))


def test_a_gpu_that_could_not_compute_is_refused_with_the_reason(bench: Any) -> None:
    without_unified_memory(bench)

    with pytest.raises(NotFound, match=r"/dev/nvidia-uvm.*the operator must load"):
        injections(context_of(bench), UID, [whole(bench.uuid(0))], HOOK)


def test_a_monitor_goes_without_unified_memory(bench: Any) -> None:
    without_unified_memory(bench)
    watched = msgspec.structs.replace(whole(bench.uuid(0)), admin_access=True)

    (found,) = injections(context_of(bench), UID, [watched], HOOK)

    assert [node.path for node in found.shared_nodes] == ["/dev/nvidiactl", "/dev/nvidia-modeset"]


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (DeviceNode("/dev/a", None), "its numbers are unknown"),
        (DeviceNode("/dev/a", Path("/nowhere/a")), "/nowhere/a does not exist"),
    ],
)
def test_a_node_that_no_runtime_could_make_is_refused(bench: Any, node: DeviceNode, reason: str) -> None:
    machine: Any = replace(bench.machine, files=FixedFiles(node))  # type: ignore[arg-type]

    with pytest.raises(NotReady, match=rf"cannot give containers .*/dev/a.*{reason}"):
        injections(context_of(bench, machine), UID, [whole(bench.uuid(0))], HOOK)


def test_a_mig_partition_without_its_instance_is_refused(bench: Any) -> None:
    planned = ClaimedMigPartition(
        requests=("r",),
        pool="n",
        device="half",
        cdi_id="x",
        parent_uuid=bench.uuid(0),
        profile_id=9,
        start=4,
        size=4,
    )

    with pytest.raises(NotReady, match="device half: its instance is not known yet"):
        injections(context_of(bench), UID, [planned], HOOK)
