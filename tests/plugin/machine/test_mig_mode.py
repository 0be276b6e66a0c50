"""The MIG mode: on for MIG partitions, off for whole GPUs, and never left with a change pending."""

from __future__ import annotations

from typing import Any

import pytest

from agent.hardware.types import MigSpec
from agent.inventory.numbers.numbering import NumberedGpu
from plugin.base.errors import GpuBusy, PlacementTaken
from plugin.machine import mig_mode


def gpu_of(bench: Any, minor: int) -> NumberedGpu:
    found = next(gpu for gpu in bench.simulated.gpus.gpus() if gpu.uuid == bench.uuid(minor))
    return NumberedGpu.of(found, minor)


def create_instance(bench: Any, minor: int) -> None:
    gpus, uuid = bench.simulated.gpus, bench.uuid(minor)
    profile = gpus.profiles(uuid)[0]
    gpus.create_gpu_instance(MigSpec(uuid, profile.profile_id, profile.placements[0]))


def test_turning_on_and_off_twice_equals_once(bench: Any) -> None:
    gpus, gpu = bench.simulated.gpus, gpu_of(bench, 0)

    for _ in range(2):
        mig_mode.turn_on(gpus, gpu)
        assert bench.is_in_mig_mode(0)
    for _ in range(2):
        mig_mode.turn_off_together(gpus, gpu)
        assert not bench.is_in_mig_mode(0)


def test_of_several_gpus_none_changes_where_one_has_an_instance(bench: Any) -> None:
    gpus, both = bench.simulated.gpus, (gpu_of(bench, 0), gpu_of(bench, 1))
    for gpu in both:
        mig_mode.turn_on(gpus, gpu)
    create_instance(bench, 1)

    with pytest.raises(
        PlacementTaken,
        match=r"cannot use GPU 1 .* whole: it is cut into GI .*, and no claim of this driver created it",
    ):
        mig_mode.turn_off_together(gpus, *both)

    assert bench.is_in_mig_mode(0)
    assert bench.is_in_mig_mode(1)


@pytest.mark.parametrize("enabled", [True, False])
def test_a_change_that_cannot_happen_now_is_taken_back(bench: Any, enabled: bool) -> None:
    gpus, gpu = bench.simulated.gpus, gpu_of(bench, 0)
    if not enabled:
        mig_mode.turn_on(gpus, gpu)
    bench.inject("gpu-0:in-use")

    with pytest.raises(GpuBusy, match=f"turn MIG mode {'on' if enabled else 'off'} for GPU 0"):
        (mig_mode.turn_on if enabled else mig_mode.turn_off_together)(gpus, gpu)

    mode = gpus.mig_mode(gpu.uuid)
    assert mode is not None
    assert mode.is_settled
    assert mode.current is not enabled


def test_the_mode_stays_on_while_the_gpu_has_an_instance(bench: Any) -> None:
    gpus = bench.simulated.gpus
    for minor in (0, 1):
        mig_mode.turn_on(gpus, gpu_of(bench, minor))
    create_instance(bench, 1)

    for minor in (0, 1):
        mig_mode.turn_off_if_unused(gpus, gpu_of(bench, minor))

    assert [bench.is_in_mig_mode(minor) for minor in (0, 1)] == [False, True]
