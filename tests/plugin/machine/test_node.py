"""The node's snapshot: read when it must be, and complete in itself."""

from __future__ import annotations

from typing import Any

from agent.inventory.published import gpus_of
from plugin.machine.lock_target import LockTarget
from plugin.machine.node import Node


def node_of(bench: Any) -> Node:
    return Node(bench.machine.readers, bench.node, "tangram.dev")


def test_the_node_is_read_once_until_somebody_reads_it_again(bench: Any) -> None:
    node = node_of(bench)
    first = node.snapshot
    bench.inject("gpu-1:lost")

    assert node.snapshot is first
    assert node.read_again() is node.snapshot
    assert node.snapshot is not first


def test_every_gpu_of_a_snapshots_devices_is_known_to_it(bench: Any) -> None:
    bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
    snapshot = node_of(bench).snapshot

    used = {gpu.uuid for device in snapshot.devices.by_name.values() for gpu in gpus_of(device)}

    assert used == set(snapshot.gpus) == set(snapshot.instances)
    assert snapshot.instances[bench.uuid(0)] == bench.instances(0)


def test_a_gpu_that_cannot_be_read_is_neither_known_nor_offered(bench: Any) -> None:
    bench.inject("gpu-1:lost")

    snapshot = node_of(bench).snapshot

    assert set(snapshot.gpus) == {bench.uuid(0)}
    assert not any(name.startswith("gpu-1") for name in snapshot.devices.by_name)


def test_what_is_locked_is_named_as_people_know_it(bench: Any) -> None:
    snapshot = node_of(bench).snapshot

    assert snapshot.text_of(LockTarget("GPU", bench.uuid(1))) == f"GPU 1 ({bench.uuid(1)})"
    assert snapshot.text_of(LockTarget("GPU", "GPU-gone")) == "GPU GPU-gone"
    assert snapshot.text_of(LockTarget("NIC", "0000:3b:00.0")) == "NIC 0000:3b:00.0"
