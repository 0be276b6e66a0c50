"""MIG partitions: which instance is ours, and that nothing else is taken over or destroyed."""

from __future__ import annotations

from typing import Any

import pytest
from devices_of_kinds import modes_of
from hypothesis import given
from hypothesis import strategies as st

from agent.hardware.errors import HardwareFault
from agent.hardware.types import (
    ComputeInstance,
    GpuInstance,
    GpuUuid,
    MigInstance,
    MigSpec,
    MigUuid,
    Placement,
)
from agent.inventory.foreign.rule import is_ours
from agent.inventory.numbers.numbering import NumberedGpu
from plugin.base.errors import PlacementTaken
from plugin.kinds.mig_partition import instances as mig_instances
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition

GPU = GpuUuid("GPU-1")
uuids = st.sampled_from(["MIG-1", "MIG-2"])
gpu_instances = st.builds(
    GpuInstance,
    parent=st.just(GPU),
    gi_id=st.integers(min_value=1, max_value=2),
    profile_id=st.sampled_from([9, 19]),
    placement=st.builds(Placement, st.sampled_from([0, 4]), st.just(4)),
    compute_instances=st.lists(st.builds(ComputeInstance, st.just(0), uuids.map(MigUuid)), max_size=1).map(
        tuple
    ),
)


def claimed(gpu: GpuUuid = GPU, profile_id: int = 9, start: int = 4, size: int = 4) -> ClaimedMigPartition:
    return ClaimedMigPartition(
        requests=("r",),
        pool="node-1",
        device="half",
        cdi_id="x/claim=half",
        parent_uuid=gpu,
        profile_id=profile_id,
        start=start,
        size=size,
    )


@given(
    instance=gpu_instances, gi_id=st.none() | st.integers(min_value=1, max_value=2), uuid=st.none() | uuids
)
def test_what_is_ours_has_our_placement_and_no_uuid_but_the_recorded_one(
    instance: GpuInstance, gi_id: int | None, uuid: str | None
) -> None:
    device = claimed().with_gpu_instance(gi_id)
    if gi_id is not None and uuid is not None:
        device = device.with_instance(_instance_of(device, gi_id, uuid))
    found = {compute.uuid for compute in instance.compute_instances}

    if is_ours(instance, device):
        assert instance.spec == device.spec
        assert device.gi_id in {None, instance.gi_id}
        assert found <= ({device.mig_uuid} if device.mig_uuid else found)
        assert device.gi_id is not None or not found
    if mig_instances.is_alive([instance], device):
        assert found == {device.mig_uuid}


def _instance_of(device: ClaimedMigPartition, gi_id: int, uuid: str) -> MigInstance:
    return MigInstance(device.spec, gi_id, 0, MigUuid(uuid))


@pytest.fixture
def half(bench: Any) -> ClaimedMigPartition:
    """Return a half of GPU 0, which is in MIG mode."""
    gpus, uuid = bench.simulated.gpus, bench.uuid(0)
    modes_of(bench).turn_on(gpu_of(bench))
    profile = next(one for one in gpus.profiles(uuid) if one.name == "3g.20gb")
    return claimed(uuid, profile.profile_id)


def gpu_of(bench: Any) -> NumberedGpu:
    found = next(gpu for gpu in bench.simulated.gpus.gpus() if gpu.uuid == bench.uuid(0))
    return NumberedGpu.of(found, 0)


def ensure(bench: Any, device: ClaimedMigPartition, notes: list[int | None]) -> ClaimedMigPartition:
    gpus = bench.simulated.gpus
    present = gpus.gpu_instances(device.gpu)
    return device.with_instance(mig_instances.ensure(gpus, present, gpu_of(bench), device, notes.append))


def test_the_id_of_the_gi_is_noted_before_its_ci_is_created(bench: Any, half: ClaimedMigPartition) -> None:
    bench.inject("gpu-0:create-compute-instance:hardware-fault:1")
    notes: list[int | None] = []

    with pytest.raises(HardwareFault):
        ensure(bench, half, notes)

    assert len(notes) == 1
    assert bench.instances() == ()


def test_ensuring_twice_equals_once_and_destroying_twice_too(bench: Any, half: ClaimedMigPartition) -> None:
    once = ensure(bench, half, [])

    assert ensure(bench, once, []) == once
    mig_instances.destroy(bench.simulated.gpus, once)
    mig_instances.destroy(bench.simulated.gpus, once)

    assert bench.instances() == ()


def test_an_instance_that_vanished_is_noted_as_gone_before_a_new_one_is_created(
    bench: Any, half: ClaimedMigPartition
) -> None:
    once = ensure(bench, half, [])
    mig_instances.destroy(bench.simulated.gpus, once)
    notes: list[int | None] = []

    again = ensure(bench, once, notes)

    assert notes == [None, again.gi_id]
    assert again.mig_uuid != once.mig_uuid


def test_somebody_elses_instance_is_neither_taken_over_nor_destroyed(
    bench: Any, half: ClaimedMigPartition
) -> None:
    gpus = bench.simulated.gpus
    gi_id = gpus.create_gpu_instance(MigSpec(half.gpu, half.profile_id, half.spec.placement))
    gpus.create_compute_instance(half.gpu, gi_id)

    with pytest.raises(PlacementTaken, match=rf"memory slices 4-7 of GPU 0 .*GI {gi_id} "):
        ensure(bench, half, [])
    with pytest.raises(PlacementTaken):
        mig_instances.refuse_occupied(gpus.gpu_instances(half.gpu), gpu_of(bench), half)
    mig_instances.destroy(gpus, half)

    assert [instance.gi_id for instance in bench.instances()] == [gi_id]
