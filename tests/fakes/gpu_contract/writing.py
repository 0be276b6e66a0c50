"""What holds when a GPU is cut. One GPU is turned to MIG, cut, and mended again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent.hardware.errors import (
    InsufficientResources,
    InUse,
    InvalidArgument,
    NotFound,
    NotSupported,
)
from agent.hardware.ports import Gpus
from agent.hardware.types import GpuUuid, MigMode, MigProfile, MigSpec, MigUuid, ModeChange, Placement

UNKNOWN_PROFILE = 4711
UNKNOWN_GI = 99


def mend(hardware: Gpus, uuid: GpuUuid) -> None:
    """Leave the GPU uncut with MIG off."""
    for instance in hardware.gpu_instances(uuid):
        for compute_instance in instance.compute_instances:
            hardware.destroy_compute_instance(uuid, instance.gi_id, compute_instance.ci_id)
        hardware.destroy_gpu_instance(uuid, instance.gi_id)
    hardware.set_mig_mode(uuid, False)


@pytest.fixture
def mended(hardware: Gpus, uuid: GpuUuid) -> Iterator[GpuUuid]:
    """A GPU with MIG off."""
    yield uuid
    mend(hardware, uuid)


@pytest.fixture
def cut(hardware: Gpus, mended: GpuUuid) -> GpuUuid:
    """A GPU with MIG on and no instance yet."""
    assert hardware.set_mig_mode(mended, True) is ModeChange.ACTIVE
    return mended


def by_size(hardware: Gpus, uuid: GpuUuid) -> list[MigProfile]:
    return sorted(hardware.profiles(uuid), key=lambda profile: (profile.placements[0].size, profile.name))


def spec_of(uuid: GpuUuid, profile: MigProfile, at: int = 0) -> MigSpec:
    return MigSpec(uuid, profile.profile_id, profile.placements[at])


def smallest(hardware: Gpus, uuid: GpuUuid, at: int = 0) -> MigSpec:
    return spec_of(uuid, by_size(hardware, uuid)[0], at)


def largest(hardware: Gpus, uuid: GpuUuid) -> MigSpec:
    return spec_of(uuid, by_size(hardware, uuid)[-1])


def partition(hardware: Gpus, spec: MigSpec) -> tuple[int, int, MigUuid]:
    gi_id = hardware.create_gpu_instance(spec)
    made = hardware.create_compute_instance(spec.parent, gi_id)
    return gi_id, made.ci_id, made.uuid


def test_an_idle_gpu_takes_the_mode_at_once(hardware: Gpus, mended: GpuUuid) -> None:
    change = hardware.set_mig_mode(mended, True)

    assert change is ModeChange.ACTIVE
    assert hardware.mig_mode(mended) == MigMode(True, True)


def test_asking_for_the_mode_it_has_changes_nothing(hardware: Gpus, cut: GpuUuid) -> None:
    change = hardware.set_mig_mode(cut, True)

    assert change is ModeChange.ACTIVE
    assert hardware.mig_mode(cut) == MigMode(True, True)


def test_profiles_are_the_same_with_mig_off_and_on(hardware: Gpus, mended: GpuUuid) -> None:
    with_mig_off = hardware.profiles(mended)

    hardware.set_mig_mode(mended, True)

    assert hardware.profiles(mended) == with_mig_off


def test_with_mig_off_there_are_no_instances_and_none_can_be_made(hardware: Gpus, mended: GpuUuid) -> None:
    with pytest.raises(NotSupported):
        hardware.create_gpu_instance(smallest(hardware, mended))

    assert hardware.gpu_instances(mended) == ()


def test_an_unknown_profile_is_an_invalid_argument(hardware: Gpus, cut: GpuUuid) -> None:
    with pytest.raises(InvalidArgument):
        hardware.create_gpu_instance(MigSpec(cut, UNKNOWN_PROFILE, Placement(0, 1)))

    assert hardware.gpu_instances(cut) == ()


def test_a_placement_off_the_list_is_an_invalid_argument(hardware: Gpus, cut: GpuUuid) -> None:
    profile = by_size(hardware, cut)[-1]
    beside = Placement(profile.placements[0].start + 1, profile.placements[0].size)

    with pytest.raises(InvalidArgument):
        hardware.create_gpu_instance(MigSpec(cut, profile.profile_id, beside))

    assert hardware.gpu_instances(cut) == ()


def test_a_gi_without_a_ci_is_listed_and_makes_no_mig_device(hardware: Gpus, cut: GpuUuid) -> None:
    spec = smallest(hardware, cut)

    gi_id = hardware.create_gpu_instance(spec)

    (instance,) = hardware.gpu_instances(cut)
    assert (instance.gi_id, instance.spec, instance.compute_instances) == (gi_id, spec, ())


def test_a_ci_makes_a_mig_device_with_a_uuid(hardware: Gpus, cut: GpuUuid) -> None:
    gi_id, ci_id, uuid = partition(hardware, smallest(hardware, cut))

    (instance,) = hardware.gpu_instances(cut)
    (made,) = instance.compute_instances
    assert (instance.gi_id, made.ci_id, made.uuid) == (gi_id, ci_id, uuid)
    assert uuid.startswith("MIG-")


def test_every_profile_can_be_created_at_each_of_its_places(hardware: Gpus, cut: GpuUuid) -> None:
    for profile in hardware.profiles(cut):
        for at, placement in enumerate(profile.placements):
            gi_id, ci_id, _ = partition(hardware, spec_of(cut, profile, at))

            (instance,) = hardware.gpu_instances(cut)
            assert (instance.profile_id, instance.placement) == (profile.profile_id, placement)
            hardware.destroy_compute_instance(cut, gi_id, ci_id)
            hardware.destroy_gpu_instance(cut, gi_id)


def test_a_taken_place_is_refused_and_its_holder_unharmed(hardware: Gpus, cut: GpuUuid) -> None:
    partition(hardware, smallest(hardware, cut))
    before = hardware.gpu_instances(cut)

    with pytest.raises(InsufficientResources):
        hardware.create_gpu_instance(largest(hardware, cut))

    assert hardware.gpu_instances(cut) == before


def test_the_same_place_twice_is_refused_like_any_taken_place(hardware: Gpus, cut: GpuUuid) -> None:
    hardware.create_gpu_instance(smallest(hardware, cut))

    with pytest.raises(InsufficientResources):
        hardware.create_gpu_instance(smallest(hardware, cut))


def test_a_profile_can_be_created_as_often_as_it_says_and_no_more(hardware: Gpus, cut: GpuUuid) -> None:
    for profile in hardware.profiles(cut):
        created = 0
        for at in range(len(profile.placements)):
            try:
                hardware.create_gpu_instance(spec_of(cut, profile, at))
                created += 1
            except InsufficientResources:
                pass

        assert created == profile.max_instances
        for instance in hardware.gpu_instances(cut):
            hardware.destroy_gpu_instance(cut, instance.gi_id)


def test_living_instances_have_ids_of_their_own(hardware: Gpus, cut: GpuUuid) -> None:
    profile = by_size(hardware, cut)[0]

    ids = [hardware.create_gpu_instance(spec_of(cut, profile, at)) for at in range(profile.max_instances)]

    assert len(set(ids)) == profile.max_instances
    assert [instance.gi_id for instance in hardware.gpu_instances(cut)] == sorted(ids)


def test_a_second_ci_that_fills_the_gi_is_refused(hardware: Gpus, cut: GpuUuid) -> None:
    gi_id, _, _ = partition(hardware, smallest(hardware, cut))

    with pytest.raises(InsufficientResources):
        hardware.create_compute_instance(cut, gi_id)


def test_a_gi_with_a_ci_cannot_be_destroyed(hardware: Gpus, cut: GpuUuid) -> None:
    gi_id, _, _ = partition(hardware, smallest(hardware, cut))

    with pytest.raises(InUse):
        hardware.destroy_gpu_instance(cut, gi_id)

    assert [instance.gi_id for instance in hardware.gpu_instances(cut)] == [gi_id]


def test_an_unknown_gi_is_not_found(hardware: Gpus, cut: GpuUuid) -> None:
    with pytest.raises(NotFound):
        hardware.create_compute_instance(cut, UNKNOWN_GI)
    with pytest.raises(NotFound):
        hardware.destroy_gpu_instance(cut, UNKNOWN_GI)
    with pytest.raises(NotFound):
        hardware.destroy_compute_instance(cut, UNKNOWN_GI, 0)


def test_a_ci_that_is_gone_is_not_found(hardware: Gpus, cut: GpuUuid) -> None:
    gi_id, ci_id, _ = partition(hardware, smallest(hardware, cut))
    hardware.destroy_compute_instance(cut, gi_id, ci_id)

    with pytest.raises(NotFound):
        hardware.destroy_compute_instance(cut, gi_id, ci_id)


def test_a_destroyed_partition_leaves_nothing_and_frees_its_place(hardware: Gpus, cut: GpuUuid) -> None:
    gi_id, ci_id, _ = partition(hardware, smallest(hardware, cut))

    hardware.destroy_compute_instance(cut, gi_id, ci_id)
    hardware.destroy_gpu_instance(cut, gi_id)

    assert hardware.gpu_instances(cut) == ()
    hardware.create_gpu_instance(largest(hardware, cut))


def test_mig_cannot_be_turned_off_while_instances_exist(hardware: Gpus, cut: GpuUuid) -> None:
    hardware.create_gpu_instance(smallest(hardware, cut))

    with pytest.raises(InUse):
        hardware.set_mig_mode(cut, False)

    assert hardware.mig_mode(cut) == MigMode(True, True)


def test_living_mig_devices_have_uuids_of_their_own(hardware: Gpus, cut: GpuUuid) -> None:
    profile = by_size(hardware, cut)[0]

    uuids = {partition(hardware, spec_of(cut, profile, at))[2] for at in range(profile.max_instances)}

    assert len(uuids) == profile.max_instances


def splittable(hardware: Gpus, uuid: GpuUuid) -> tuple[MigSpec, MigProfile]:
    """A GI with narrower CIs, the one with the most of them."""
    found = [profile for profile in hardware.profiles(uuid) if profile.narrower]
    if not found:
        pytest.skip("no narrower compute instances on this model")
    profile = max(found, key=lambda one: len(one.narrower))
    return spec_of(uuid, profile), profile


def places(profile: MigProfile) -> list[Placement]:
    return [Placement(start, one.width) for one in profile.narrower for start in one.starts]


def test_every_narrower_ci_can_be_created_at_each_of_its_places(hardware: Gpus, cut: GpuUuid) -> None:
    spec, profile = splittable(hardware, cut)
    gi_id = hardware.create_gpu_instance(spec)

    for place in places(profile):
        made = hardware.create_compute_instance(cut, gi_id, place)

        (instance,) = hardware.gpu_instances(cut)
        assert instance.compute_instances == (made,)
        assert made.place == place
        hardware.destroy_compute_instance(cut, gi_id, made.ci_id)


def test_narrow_cis_fill_their_gi_and_each_has_a_mig_device(hardware: Gpus, cut: GpuUuid) -> None:
    spec, profile = splittable(hardware, cut)
    gi_id = hardware.create_gpu_instance(spec)
    narrow = profile.narrower[0]

    made = [hardware.create_compute_instance(cut, gi_id, Placement(at, narrow.width)) for at in narrow.starts]

    (instance,) = hardware.gpu_instances(cut)
    assert set(instance.compute_instances) == set(made)
    assert [ci.ci_id for ci in instance.compute_instances] == sorted({ci.ci_id for ci in made})
    assert len({ci.uuid for ci in made}) == len(made) == profile.compute_slices


def test_a_compute_slice_that_is_taken_is_refused_and_its_holder_unharmed(
    hardware: Gpus, cut: GpuUuid
) -> None:
    spec, profile = splittable(hardware, cut)
    gi_id = hardware.create_gpu_instance(spec)
    hardware.create_compute_instance(cut, gi_id, Placement(0, 1))
    before = hardware.gpu_instances(cut)

    for place in places(profile):
        if place.start == 0:
            with pytest.raises(InsufficientResources):
                hardware.create_compute_instance(cut, gi_id, place)
    with pytest.raises(InsufficientResources):
        hardware.create_compute_instance(cut, gi_id)

    assert hardware.gpu_instances(cut) == before


def test_beside_a_ci_that_fills_its_gi_there_is_no_room(hardware: Gpus, cut: GpuUuid) -> None:
    spec, _ = splittable(hardware, cut)
    gi_id = hardware.create_gpu_instance(spec)
    filling = hardware.create_compute_instance(cut, gi_id)

    with pytest.raises(InsufficientResources):
        hardware.create_compute_instance(cut, gi_id, Placement(0, 1))

    (instance,) = hardware.gpu_instances(cut)
    assert instance.compute_instances == (filling,)
    assert filling.place is None


@pytest.mark.parametrize("place", [Placement(99, 1), Placement(0, 99)], ids=str)
def test_a_place_that_no_narrower_ci_has_is_an_invalid_argument(
    hardware: Gpus, cut: GpuUuid, place: Placement
) -> None:
    spec, _ = splittable(hardware, cut)
    gi_id = hardware.create_gpu_instance(spec)

    with pytest.raises(InvalidArgument):
        hardware.create_compute_instance(cut, gi_id, place)

    assert [instance.compute_instances for instance in hardware.gpu_instances(cut)] == [()]


def test_a_gi_lives_as_long_as_one_of_its_narrow_cis(hardware: Gpus, cut: GpuUuid) -> None:
    spec, _ = splittable(hardware, cut)
    gi_id = hardware.create_gpu_instance(spec)
    one, other = (hardware.create_compute_instance(cut, gi_id, Placement(at, 1)) for at in (0, 1))

    hardware.destroy_compute_instance(cut, gi_id, one.ci_id)
    with pytest.raises(InUse):
        hardware.destroy_gpu_instance(cut, gi_id)
    (instance,) = hardware.gpu_instances(cut)
    assert instance.compute_instances == (other,)
    hardware.destroy_compute_instance(cut, gi_id, other.ci_id)
    hardware.destroy_gpu_instance(cut, gi_id)

    assert hardware.gpu_instances(cut) == ()


def test_a_narrow_ci_of_a_gi_that_is_not_there_is_not_found(hardware: Gpus, cut: GpuUuid) -> None:
    with pytest.raises(NotFound):
        hardware.create_compute_instance(cut, UNKNOWN_GI, Placement(0, 1))
