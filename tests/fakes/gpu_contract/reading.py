"""What holds of every GPU, in whatever state it is. Nothing here changes anything."""

from __future__ import annotations

import re

import pytest

from agent.hardware.errors import NotFound
from agent.hardware.ports import Gpus
from agent.hardware.types import Gpu, GpuUuid, normal_bdf

NOBODY = GpuUuid("GPU-00000000-0000-0000-0000-000000000000")


def readable(hardware: Gpus) -> list[Gpu]:
    return [gpu for gpu in hardware.gpus() if isinstance(gpu, Gpu)]


def the(hardware: Gpus, uuid: GpuUuid) -> Gpu:
    return next(gpu for gpu in readable(hardware) if gpu.uuid == uuid)


def test_versions_are_numbers_joined_by_dots(hardware: Gpus) -> None:
    versions = hardware.versions()

    assert re.fullmatch(r"\d+(\.\d+)+", versions.driver)
    assert re.fullmatch(r"\d+\.\d+", versions.cuda)


def test_gpus_come_by_index_and_no_two_share_an_identity(hardware: Gpus) -> None:
    gpus = readable(hardware)

    assert [gpu.index for gpu in gpus] == sorted({gpu.index for gpu in gpus})
    assert len({gpu.uuid for gpu in gpus}) == len({gpu.minor for gpu in gpus}) == len(gpus)
    assert len({gpu.bdf for gpu in gpus}) == len(gpus)


def test_addresses_are_spelt_as_sysfs_spells_them(hardware: Gpus) -> None:
    assert all(gpu.bdf == normal_bdf(gpu.bdf) for gpu in readable(hardware))


def test_a_gpu_has_memory_and_a_name(hardware: Gpus, uuid: GpuUuid) -> None:
    gpu = the(hardware, uuid)

    assert gpu.memory_bytes > 2**30
    assert gpu.product_name
    assert re.fullmatch(r"\d+\.\d", gpu.cuda_compute_capability)


def test_the_list_and_the_single_question_agree_on_the_mode(hardware: Gpus, uuid: GpuUuid) -> None:
    assert the(hardware, uuid).mig == hardware.mig_mode(uuid)


def test_the_list_and_the_single_question_agree_on_the_minor_number(hardware: Gpus, uuid: GpuUuid) -> None:
    assert the(hardware, uuid).minor == hardware.minor(uuid)


def test_profiles_come_by_name_and_no_two_share_an_id(hardware: Gpus, uuid: GpuUuid) -> None:
    profiles = hardware.profiles(uuid)

    assert [profile.name for profile in profiles] == sorted({profile.name for profile in profiles})
    assert len({profile.profile_id for profile in profiles}) == len(profiles)


def test_only_a_model_with_mig_has_profiles(hardware: Gpus, uuid: GpuUuid) -> None:
    if hardware.mig_mode(uuid) is None:
        assert hardware.profiles(uuid) == ()
        assert hardware.gpu_instances(uuid) == ()


def test_placements_of_a_profile_come_by_start_and_have_one_size(hardware: Gpus, uuid: GpuUuid) -> None:
    for profile in hardware.profiles(uuid):
        assert list(profile.placements) == sorted(set(profile.placements))
        assert len({placement.size for placement in profile.placements}) == 1


def test_no_instance_has_more_memory_than_its_gpu(hardware: Gpus, uuid: GpuUuid) -> None:
    total = the(hardware, uuid).memory_bytes

    assert all(0 < profile.memory_bytes <= total for profile in hardware.profiles(uuid))


def test_a_profile_has_no_more_instances_than_placements(hardware: Gpus, uuid: GpuUuid) -> None:
    for profile in hardware.profiles(uuid):
        assert 1 <= profile.max_instances <= len(profile.placements)


def test_narrower_compute_profiles_come_by_width_and_lie_inside_their_gpu_instance(
    hardware: Gpus, uuid: GpuUuid
) -> None:
    for profile in hardware.profiles(uuid):
        widths = [one.width for one in profile.narrower]
        assert widths == sorted(set(widths))
        for one in profile.narrower:
            ends = [start + one.width for start in one.starts]
            assert 1 <= one.width < profile.compute_slices
            assert max(ends) <= profile.compute_slices
            assert all(end <= start for end, start in zip(ends, one.starts[1:], strict=False))


def test_instances_come_by_id_at_places_that_their_profile_allows(hardware: Gpus, uuid: GpuUuid) -> None:
    placements = {profile.profile_id: profile.placements for profile in hardware.profiles(uuid)}
    instances = hardware.gpu_instances(uuid)

    assert [instance.gi_id for instance in instances] == sorted({instance.gi_id for instance in instances})
    assert all(instance.placement in placements[instance.profile_id] for instance in instances)
    assert all(instance.parent == uuid for instance in instances)


def test_processes_come_by_number_and_each_once(hardware: Gpus, uuid: GpuUuid) -> None:
    processes = hardware.processes(uuid)

    assert list(processes) == sorted(set(processes))


@pytest.mark.parametrize("question", ["minor", "mig_mode", "profiles", "gpu_instances", "processes"])
def test_a_gpu_that_is_not_there_is_not_found(hardware: Gpus, question: str) -> None:
    with pytest.raises(NotFound):
        getattr(hardware, question)(NOBODY)
