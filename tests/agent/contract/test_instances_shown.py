"""The kernel shows the capability of a MIG instance as long as the instance exists, whoever changes it."""

from __future__ import annotations

from gpu_contract.writing import cut, mended, partition, smallest

from agent.hardware.driver_root import DriverRoot
from agent.hardware.ports import Gpus
from agent.hardware.simulated import SimulatedMachine
from agent.hardware.types import GpuUuid

__all__ = ("cut", "mended")


def test_an_instance_is_shown_until_somebody_destroys_it_and_its_neighbour_stays(
    hardware: Gpus, machine: SimulatedMachine, cut: GpuUuid
) -> None:
    files, minor = DriverRoot(machine.root), hardware.minor(cut)
    gi_id, ci_id, _ = partition(hardware, smallest(hardware, cut))
    neighbour, its_ci, _ = partition(hardware, smallest(hardware, cut, 1))
    before = files.shows_instance(minor, gi_id, ci_id)

    hardware.destroy_compute_instance(cut, gi_id, ci_id)
    without_ci = files.shows_instance(minor, gi_id, ci_id)
    hardware.destroy_gpu_instance(cut, gi_id)

    assert before
    assert not without_ci
    assert not files.shows_instance(minor, gi_id, ci_id)
    assert files.shows_instance(minor, neighbour, its_ci)
    assert not files.shows_instance(minor + 1, neighbour, its_ci)
