"""The MIG mode: on for MIG partitions, off for whole GPUs, and never left with a change pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from devices_of_kinds import modes_of

from agent.hardware.types import MigSpec
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.numbers.numbering import NumberedGpu
from plugin.base.errors import GpuBusy, PlacementTaken

KEPT = GpuModes(ModesOfGpu(whole=False, keeps_mig=True))


def gpu_of(bench: Any, minor: int) -> NumberedGpu:
    found = next(gpu for gpu in bench.simulated.gpus.gpus() if gpu.uuid == bench.uuid(minor))
    return NumberedGpu.of(found, minor)


def create_instance(bench: Any, minor: int) -> None:
    gpus, uuid = bench.simulated.gpus, bench.uuid(minor)
    profile = gpus.profiles(uuid)[0]
    gpus.create_gpu_instance(MigSpec(uuid, profile.profile_id, profile.placements[0]))


def turn_on_by_hand(bench: Any, minor: int = 0) -> None:
    bench.simulated.gpus.set_mig_mode(bench.uuid(minor), enabled=True)


def test_turning_on_and_off_twice_equals_once(bench: Any) -> None:
    modes, gpu = modes_of(bench), gpu_of(bench, 0)

    for _ in range(2):
        modes.turn_on(gpu)
        assert bench.is_in_mig_mode(0)
    for _ in range(2):
        modes.turn_off_together(gpu)
        assert not bench.is_in_mig_mode(0)


def test_of_several_gpus_none_changes_where_one_has_an_instance(bench: Any) -> None:
    modes, both = modes_of(bench), (gpu_of(bench, 0), gpu_of(bench, 1))
    for gpu in both:
        modes.turn_on(gpu)
    create_instance(bench, 1)

    with pytest.raises(
        PlacementTaken, match=r"whole: it is cut into GI .*, and no claim of this driver created it"
    ):
        modes.turn_off_together(*both)

    assert bench.is_in_mig_mode(0)
    assert bench.is_in_mig_mode(1)


@pytest.mark.parametrize("enabled", [True, False])
def test_a_change_that_cannot_happen_now_is_taken_back(bench: Any, enabled: bool) -> None:
    modes, gpu = modes_of(bench), gpu_of(bench, 0)
    if not enabled:
        modes.turn_on(gpu)
    bench.inject("gpu-0:in-use")

    with pytest.raises(GpuBusy, match=f"turn MIG mode {'on' if enabled else 'off'} for GPU 0"):
        (modes.turn_on if enabled else modes.turn_off_together)(gpu)

    mode = bench.simulated.gpus.mig_mode(gpu.uuid)
    assert mode is not None
    assert mode.is_settled
    assert mode.current is not enabled


def test_the_mode_stays_on_while_the_gpu_has_an_instance(bench: Any) -> None:
    modes = modes_of(bench)
    for minor in (0, 1):
        modes.turn_on(gpu_of(bench, minor))
    create_instance(bench, 1)

    for minor in (0, 1):
        modes.turn_off_if_unused(gpu_of(bench, minor))

    assert [bench.is_in_mig_mode(minor) for minor in (0, 1)] == [False, True]


def test_an_ampere_gpu_that_was_in_mig_mode_before_the_first_claim_stays_so(bench: Any) -> None:
    turn_on_by_hand(bench)
    modes, gpu = modes_of(bench), gpu_of(bench, 0)
    modes.turn_on(gpu)

    modes.turn_off_if_unused(gpu)

    assert bench.is_in_mig_mode(0)


def test_a_hopper_gpu_that_was_in_mig_mode_is_turned_off_after_the_last_claim(
    bench_of: Callable[..., Any],
) -> None:
    bench = bench_of("hgx-h100")
    turn_on_by_hand(bench)

    modes_of(bench).turn_off_if_unused(gpu_of(bench, 0))

    assert not bench.is_in_mig_mode(0)


def test_a_whole_gpu_claim_turns_off_a_mode_that_somebody_turned_on_and_it_is_ours_from_then_on(
    bench: Any,
) -> None:
    turn_on_by_hand(bench)
    modes, gpu = modes_of(bench), gpu_of(bench, 0)

    modes.turn_off_together(gpu)
    modes.turn_on(gpu)
    modes.turn_off_if_unused(gpu)

    assert not bench.is_in_mig_mode(0)
    assert list(bench.options.mig_modes_dir.iterdir()) == []


def test_a_mode_that_is_on_by_hand_after_ours_was_off_stays_on(bench: Any) -> None:
    modes, gpu = modes_of(bench), gpu_of(bench, 0)
    modes.turn_on(gpu)
    modes.turn_off_if_unused(gpu)
    turn_on_by_hand(bench)

    modes.turn_off_if_unused(gpu)

    assert bench.is_in_mig_mode(0)


def test_what_was_written_before_a_change_that_never_came_is_forgotten_with_the_claim(bench: Any) -> None:
    modes, gpu = modes_of(bench), gpu_of(bench, 0)
    modes.made.add(gpu)  # and the process dies

    modes.turn_off_if_unused(gpu)

    assert not modes.made.has(gpu)


def test_a_pending_change_of_a_mode_that_stays_on_is_taken_back(bench: Any) -> None:
    turn_on_by_hand(bench)
    bench.inject("gpu-0:in-use")
    bench.simulated.gpus.set_mig_mode(bench.uuid(0), enabled=False)

    modes_of(bench).turn_off_if_unused(gpu_of(bench, 0))

    assert bench.is_in_mig_mode(0)


@pytest.mark.parametrize("node", ["a100x2", "hgx-h100"])
def test_a_mode_that_is_to_stay_on_stays_on_after_the_last_claim(
    bench_of: Callable[..., Any], node: str
) -> None:
    bench = bench_of(node)
    modes, gpu = modes_of(bench, KEPT), gpu_of(bench, 0)
    modes.turn_on(gpu)

    modes.turn_off_if_unused(gpu)

    assert bench.is_in_mig_mode(0)


@pytest.mark.parametrize("is_rebooted", [False, True])
def test_a_mode_that_could_not_be_turned_off_after_the_last_claim_is_settled_at_the_next_start(
    bench: Any, *, is_rebooted: bool
) -> None:
    bench.driver.prepare(bench.claim("u1", "gpu-0-mig-1g-5gb-0"))
    bench.inject("gpu-0:set-mig-mode:in-use:2")
    bench.unprepare("u1")
    assert bench.is_in_mig_mode(0)
    bench.simulated.clear_faults()
    if is_rebooted:
        bench.simulated.reboot()

    bench.restart()

    assert not bench.is_in_mig_mode(0)
    assert bench.leftovers() == []


def test_a_mode_that_cannot_be_settled_stops_no_start(bench: Any) -> None:
    bench.driver.prepare(bench.claim("u1", "gpu-0-mig-1g-5gb-0"))
    bench.inject("gpu-0:set-mig-mode:in-use:9")
    bench.unprepare("u1")

    bench.restart()

    assert modes_of(bench).made.has(gpu_of(bench, 0))
    assert bench.driver.prepare(bench.claim("u2", "gpu-1"))
