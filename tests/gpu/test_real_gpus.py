"""A real machine: sysfs and /dev know its GPUs, and each is what the shipped model of its product says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import NotSupported
from agent.hardware.simulated.gpu_models import gpu_models, load_model
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import MIB

pytestmark = pytest.mark.gpu

MOVES_BETWEEN_DRIVERS_MIB = 1536
"""How far a profile's memory has been seen to move from one driver to the next."""


def model_of(gpu):
    models = [model for name in gpu_models() if (model := load_model(name)).product_name == gpu.product_name]
    if not models:
        pytest.skip(f"no shipped model is a {gpu.product_name}")
    return min(models, key=lambda model: abs((model.memory_bytes or 0) - gpu.memory_bytes))


def test_every_gpu_can_be_read(nvml, gpus) -> None:
    assert gpus == nvml.gpus()


def test_the_vitals_of_every_gpu_can_be_read_and_those_of_memory_are_numbers(nvml, gpus) -> None:
    for gpu in gpus:
        vitals = nvml.vitals(gpu.uuid)

        assert vitals.gpu == gpu.uuid
        assert vitals.uncorrectable_ecc is None or vitals.uncorrectable_ecc >= 0
        assert not set(vitals.links_active) & set(vitals.links_down)


def test_every_gpu_is_registered_for_events_and_waiting_for_them_ends(nvml, gpus) -> None:
    for gpu in gpus:
        try:
            nvml.watch_events(gpu.uuid)
        except NotSupported as error:
            pytest.skip(f"GPU {gpu.uuid} reports no events: {error.reason}")

    assert all(event.gpu in {gpu.uuid for gpu in gpus} for event in nvml.wait_events(0.1))


def test_sysfs_knows_every_gpu(gpus) -> None:
    for gpu in gpus:
        function = Sysfs().function(gpu.bdf)

        assert function.vendor_id == "10de"
        assert function.class_code.startswith("03")


def test_every_gpu_has_its_device_nodes(gpus) -> None:
    files = DriverRoot()

    assert files.control_nodes()
    assert [node.path for node in files.compute_nodes()] == ["/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
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
                assert abs(profile.memory_bytes - known.memory_bytes) <= MOVES_BETWEEN_DRIVERS_MIB * MIB
