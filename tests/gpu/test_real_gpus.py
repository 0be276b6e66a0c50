"""A real GPU answers as the ports promise, and as the shipped model of its product says."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import NotFound
from agent.hardware.simulated.gpu_models import gpu_models, load_model
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import GpuUuid

pytestmark = pytest.mark.gpu

MOVES_BETWEEN_DRIVERS_MIB = 1536
"""How far a profile's memory has been seen to move from one driver to the next."""


def model_of(gpu):
    models = [model for name in gpu_models() if (model := load_model(name)).product_name == gpu.product_name]
    if not models:
        pytest.skip(f"no shipped model is a {gpu.product_name}")
    return min(models, key=lambda model: abs((model.memory_bytes or 0) - gpu.memory_bytes))


def test_versions_are_dotted_numbers(nvml) -> None:
    versions = nvml.versions()

    assert re.fullmatch(r"\d+(\.\d+)+", versions.driver)
    assert re.fullmatch(r"\d+\.\d", versions.cuda)


def test_every_gpu_can_be_read(nvml, gpus) -> None:
    assert gpus == nvml.gpus()
    assert [gpu.index for gpu in gpus] == list(range(len(gpus)))


def test_sysfs_knows_every_gpu(gpus) -> None:
    for gpu in gpus:
        function = Sysfs().function(gpu.bdf)

        assert function.vendor_id == "10de"
        assert function.class_code.startswith("03")


def test_every_gpu_has_its_device_nodes(gpus) -> None:
    files = DriverRoot()

    assert files.control_nodes()
    assert all(files.gpu_nodes(gpu.minor) for gpu in gpus)


def test_a_gpu_is_what_its_shipped_model_says(gpus) -> None:
    for gpu in gpus:
        model = model_of(gpu)

        assert (gpu.architecture, gpu.cuda_compute_capability) == (
            model.architecture,
            model.cuda_compute_capability,
        )
        assert (gpu.mig is not None) == model.is_mig_capable


def test_profiles_are_those_of_the_shipped_model(nvml, gpus) -> None:
    for gpu in gpus:
        shipped = {profile.profile_id: profile for profile in model_of(gpu).profiles}

        for profile in nvml.profiles(gpu.uuid):
            known = shipped.get(profile.profile_id)
            if known is not None:
                assert replace(profile, memory_bytes=0) == replace(known, memory_bytes=0)
                assert abs(profile.memory_bytes - known.memory_bytes) <= MOVES_BETWEEN_DRIVERS_MIB * 2**20


def test_profiles_come_by_name_and_their_placements_by_start(nvml, gpus) -> None:
    for gpu in gpus:
        profiles = nvml.profiles(gpu.uuid)

        assert [profile.name for profile in profiles] == sorted({profile.name for profile in profiles})
        assert all(list(profile.placements) == sorted(set(profile.placements)) for profile in profiles)


def test_existing_instances_lie_where_their_profile_may(nvml, gpus) -> None:
    for gpu in gpus:
        placements = {profile.profile_id: profile.placements for profile in nvml.profiles(gpu.uuid)}

        for instance in nvml.gpu_instances(gpu.uuid):
            assert instance.placement in placements[instance.profile_id]


def test_an_unknown_gpu_is_not_found(nvml, gpus) -> None:
    with pytest.raises(NotFound):
        nvml.mig_mode(GpuUuid("GPU-00000000-0000-0000-0000-000000000000"))
