"""The rollback story: partitions go out of the API and come back under a pod that has one.

``DRAPartitionableDevices`` is turned off in every program that knows it, on and off again, as administrators
do who roll a release back. The pod was allocated while it was on.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from cluster_support import Document, eventually, pod, running
from launcher.client import ClusterControl
from story import DRIVER, Gpu, allocated, devices, free_gpu, refusal, slices

from kube_api import PODS, RESOURCE_CLAIMS, ApiError, KubeApi

GATE = "DRAPartitionableDevices"
REPUBLISHED_S = 90.0
PROFILE = "3g.20gb"


@pytest.fixture
def gpu(api: KubeApi, node: str) -> Gpu:
    return eventually(lambda: free_gpu(api, node), "a GPU is free")


def ask(api: KubeApi, name: str, namespace: str, gpu: Gpu, wanted: str = PROFILE) -> None:
    """Create a pod with a claim for a partition of the GPU, or for all of it."""
    own = f'device.attributes["{DRIVER}"]'
    kind, expression = "mig", f'{own}.profile == "{wanted}" && {own}.parentUUID == "{gpu.uuid}"'
    if wanted == "whole":
        kind, expression = "gpu", f'{own}.uuid == "{gpu.uuid}"'
    exactly = {
        "deviceClassName": f"{kind}.{DRIVER}",
        "selectors": [{"cel": {"expression": expression}}],
    }
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": spec}, namespace)
    command = ("sh", "-c", f"env; exec sleep {process_mark(namespace)}")
    api.create(PODS, pod(name, command=command, claims={"gpu": name}), namespace)


def process_mark(namespace: str) -> str:
    """Return a number of seconds by which the processes of this test are known."""
    return str(10**9 + int(namespace.removeprefix("test-"), 16))


def device_of(api: KubeApi, name: str, namespace: str) -> str:
    """Return the one device that a claim has."""
    (device,) = allocated(dict(api.get(RESOURCE_CLAIMS, name, namespace).document)).values()
    return device


def status_of(api: KubeApi, name: str, namespace: str) -> Document:
    found: Document = running(api, name, namespace)["status"]["containerStatuses"][0]
    return found


def injected(api: KubeApi, name: str, namespace: str) -> str:
    """Return what CDI gave the pod's container that runs now."""

    def look() -> str:
        try:
            said = api.raw_get(f"{PODS.path(namespace, name)}/log")
        except ApiError as error:  # a kubelet that has just come back does not know its pods yet
            raise AssertionError(str(error)) from error
        return "".join(line for line in said.splitlines() if line.startswith("TANGRAM_DEVICE_"))

    return eventually(look, f"pod {namespace}/{name} has printed its device")


def kill_processes(namespace: str) -> None:
    """Kill the containers of this test, as a program that crashes ends."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if words[:2] == [b"sleep", process_mark(namespace).encode()]:
            os.kill(int(folder.name), signal.SIGKILL)


def test_with_the_gate_off_on_and_off_again_a_pod_keeps_its_partition_and_nobody_else_gets_it(
    api: KubeApi, control: ClusterControl, namespace: str, node: str, gpu: Gpu
) -> None:
    everything = devices(api, node)
    ask(api, "first", namespace, gpu)
    before = status_of(api, "first", namespace)
    held, line = device_of(api, "first", namespace), injected(api, "first", namespace)

    control.set_feature_gates({GATE: False})

    others = {name for name, one in everything.items() if one["type"] == "gpu" and one["uuid"] != gpu.uuid}
    eventually(
        lambda: set(devices(api, node)) == {held} | others,
        f"only {held} and {sorted(others)} are published",
        REPUBLISHED_S,
    )
    assert not any(
        device.get("consumesCounters") for one in slices(api, node) for device in one["spec"]["devices"]
    )
    assert status_of(api, "first", namespace)["containerID"] == before["containerID"]

    kill_processes(namespace)

    eventually(
        lambda: status_of(api, "first", namespace)["containerID"] != before["containerID"],
        "the container has started again",
        60.0,
    )
    assert injected(api, "first", namespace) == line

    control.set_feature_gates({})

    eventually(lambda: devices(api, node) == everything, "everything is published again", REPUBLISHED_S)
    ask(api, "second", namespace, gpu)
    ask(api, "whole", namespace, gpu, "whole")
    assert injected(api, "second", namespace) != line
    assert device_of(api, "second", namespace) != held
    assert "cannot allocate all claims" in refusal(api, "whole", namespace)
    assert injected(api, "first", namespace) == line
    assert device_of(api, "first", namespace) == held

    control.set_feature_gates({GATE: False})

    both = {held, device_of(api, "second", namespace)}
    eventually(
        lambda: set(devices(api, node)) == both | others,
        f"only {sorted(both | others)} are published",
        REPUBLISHED_S,
    )
