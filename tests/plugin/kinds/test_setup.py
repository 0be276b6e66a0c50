"""The devices of a claim: set up, checked and taken down together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from devices_of_kinds import modes_of, vfs_of, waiting_of

from agent.hardware.errors import InUse
from agent.hardware.types import GpuInstance, GpuUuid
from plugin.base.errors import NotReady, StorageFailed
from plugin.claim.plan import resolve
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition
from plugin.kinds.registry import ClaimedDevice
from plugin.kinds.setup import DeviceSetup
from plugin.machine.context import Context
from plugin.machine.node import Node, NodeSnapshot

MIXED = ("gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-0", "gpu-1", "gpu-0-mig-1g-5gb-1")
Notes = list[tuple[ClaimedDevice, ...]]


class CountingGpus:
    """The GPUs of a machine; counts the calls for each GPU."""

    def __init__(self, gpus: Any) -> None:
        self._gpus = gpus
        self.calls: Counter[tuple[str, GpuUuid]] = Counter()

    def gpu_instances(self, gpu: GpuUuid) -> tuple[GpuInstance, ...]:
        self.calls["gpu_instances", gpu] += 1
        found: tuple[GpuInstance, ...] = self._gpus.gpu_instances(gpu)
        return found

    def mig_mode(self, gpu: GpuUuid) -> Any:
        self.calls["mig_mode", gpu] += 1
        return self._gpus.mig_mode(gpu)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gpus, name)


@pytest.fixture
def snapshot(bench: Any) -> NodeSnapshot:
    return Node(bench.machine.readers, bench.node, "tangram.dev").snapshot


@pytest.fixture
def planned(bench: Any, snapshot: NodeSnapshot) -> Callable[..., tuple[ClaimedDevice, ...]]:
    return lambda *devices: resolve(bench.claim("u1", *devices), snapshot.devices, "boot-1").devices


@pytest.fixture
def gpus(bench: Any) -> CountingGpus:
    return CountingGpus(bench.simulated.gpus)


@pytest.fixture
def each_call(bench: Any, gpus: Any, snapshot: NodeSnapshot) -> Callable[[], Context]:
    """Makes the context of one call more: what a call read of GPUs counts for that call alone."""
    machine = replace(bench.machine, gpus=gpus)
    return lambda: Context(
        machine,
        snapshot,
        Path("/"),
        waiting_of(bench),
        tuple,
        vfs_of(bench),
        modes_of(bench, machine=machine),
    )


@pytest.fixture
def context(each_call: Callable[[], Context]) -> Context:
    return each_call()


@pytest.fixture
def setup() -> DeviceSetup:
    return DeviceSetup()


def forget(_: Sequence[ClaimedDevice]) -> None:
    """Note nothing."""


def test_setting_up_twice_equals_once_and_taking_down_leaves_nothing(
    bench: Any, setup: DeviceSetup, each_call: Callable[[], Context], planned: Callable[..., Any]
) -> None:
    once = setup.set_up(each_call(), planned(*MIXED), forget)
    again = each_call()

    assert setup.set_up(again, once, forget) == once
    setup.refuse_dead(again, once)
    assert [device.as_planned() for device in once] == list(planned(*MIXED))
    for _ in range(2):
        setup.take_down(each_call(), once)

    assert bench.leftovers() == []


def test_each_gpu_is_asked_before_a_claim_is_set_up_and_after_however_many_devices_are_cut_from_it(
    bench: Any, gpus: CountingGpus, setup: DeviceSetup, context: Context, planned: Callable[..., Any]
) -> None:
    devices = planned(*(name for name in MIXED if name != "gpu-1"))

    setup.refuse_occupied(context, devices)
    found = setup.set_up(context, devices, forget)
    setup.refuse_dead(context, found)

    assert gpus.calls == {("gpu_instances", bench.uuid(0)): 2, ("mig_mode", bench.uuid(0)): 1}


def test_whatever_is_noted_holds_everything_that_was_created_before(
    bench: Any, setup: DeviceSetup, context: Context, planned: Callable[..., Any]
) -> None:
    notes: Notes = []

    def note(devices: Sequence[ClaimedDevice]) -> None:
        notes.append(tuple(devices))
        if len(notes) == 3:
            raise StorageFailed("write", "the record", "No space left on device")

    with pytest.raises(StorageFailed):
        setup.set_up(context, planned(*MIXED), note)

    known = [[one.gi_id for one in note if isinstance(one, ClaimedMigPartition)] for note in notes]

    assert [sum(gi_id is not None for gi_id in ids) for ids in known] == [1, 2, 3]
    assert {one.gi_id for one in bench.instances()} < set(known[-1])


def test_an_instance_that_died_is_named(
    bench: Any, setup: DeviceSetup, context: Context, planned: Callable[..., Any]
) -> None:
    found = setup.set_up(context, planned(MIXED[0]), forget)
    setup.take_down(context, found)

    with pytest.raises(NotReady, match=rf"device {MIXED[0]}: there is no MIG device MIG-"):
        setup.refuse_dead(context, found)


def test_the_last_mig_partition_of_a_claim_is_destroyed_first(
    bench: Any, setup: DeviceSetup, context: Context, planned: Callable[..., Any]
) -> None:
    found = setup.set_up(context, planned(*MIXED), forget)
    bench.inject("gpu-0:destroy-gpu-instance:in-use:1")

    with pytest.raises(InUse):
        setup.take_down(context, found)

    (begun,) = (one for one in bench.instances() if not one.compute_instances)
    assert begun.gi_id == found[-1].gi_id  # type: ignore[attr-defined]
    assert len(bench.instances()) == 3
