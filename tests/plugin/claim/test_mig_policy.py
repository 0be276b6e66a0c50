"""The policy of MIG modes, claim by claim: kept on, as claims need it, and never."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agent.inventory.options.mode_option import read_gpu_modes
from plugin.base.errors import UnknownDevice

HALF, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-2"


def with_modes(bench: Any, *texts: str) -> Any:
    """Start the plugin again with an option."""
    bench.options = replace(bench.options, modes=read_gpu_modes(texts))
    bench.restart()
    return bench


def turn_on_by_hand(bench: Any, minor: int = 0) -> None:
    bench.simulated.gpus.set_mig_mode(bench.uuid(minor), enabled=True)


def test_an_ampere_gpu_that_was_found_in_mig_mode_stays_so_over_claims_and_starts(bench: Any) -> None:
    turn_on_by_hand(bench)
    bench.prepare("u1", HALF)
    bench.prepare("u2", SMALL)

    bench.unprepare("u1")
    bench.restart()
    bench.unprepare("u2")

    assert bench.is_in_mig_mode()
    assert bench.leftovers() == ["0 in MIG mode"]


def test_a_mode_that_the_first_claim_turned_on_goes_with_the_last_over_starts_and_reboots(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.restart()
    bench.unprepare("u1")
    assert bench.leftovers() == []

    bench.prepare("u2", HALF)
    bench.simulated.reboot()
    assert bench.is_in_mig_mode()  # the board kept it
    bench.restart()
    assert bench.leftovers() == []


def test_a_plugin_that_died_before_the_change_leaves_no_doubt_who_made_a_later_one(bench: Any) -> None:
    bench.inject("gpu-0:set-mig-mode:hardware-fault:1")
    with pytest.raises(Exception, match="injected"):
        bench.prepare("u1", HALF)
    turn_on_by_hand(bench)

    bench.prepare("u1", HALF)
    bench.unprepare("u1")

    assert bench.is_in_mig_mode()


def test_a_claim_of_a_whole_gpu_turns_off_a_mode_that_was_found_on(bench: Any) -> None:
    turn_on_by_hand(bench)

    bench.prepare("u1", "gpu-0")

    assert not bench.is_in_mig_mode()


@pytest.mark.parametrize("node", ["a100x2", "hgx-h100"])
def test_a_mode_that_is_kept_is_turned_on_at_the_start_and_stays(
    bench_of: Callable[..., Any], node: str
) -> None:
    bench = with_modes(bench_of(node), "0=mig:on")
    assert [bench.is_in_mig_mode(minor) for minor in (0, 1)] == [True, False]
    half = next(name for name in bench.names() if name.startswith("gpu-0-mig-3g"))

    bench.prepare("u1", half)
    bench.unprepare("u1")

    assert bench.is_in_mig_mode()


def test_after_a_reboot_that_lost_it_a_kept_mode_is_turned_on_again(bench_of: Callable[..., Any]) -> None:
    bench = with_modes(bench_of("hgx-h100"), "all=mig:on")
    bench.simulated.reboot()
    assert not bench.is_in_mig_mode()

    bench.restart()

    assert bench.is_in_mig_mode()


def test_a_gpu_that_a_claim_has_whole_is_kept_in_mig_mode_only_after_that_claim(bench: Any) -> None:
    bench.prepare("u1", "gpu-0")

    with_modes(bench, "all=mig:on")
    assert [bench.is_in_mig_mode(minor) for minor in (0, 1)] == [False, True]

    bench.unprepare("u1")
    bench.restart()
    assert bench.is_in_mig_mode()


def test_a_kept_mode_that_cannot_be_turned_on_is_told_once_and_stops_no_start(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.inject("gpu-0:in-use")

    with_modes(bench, "all=mig:on")
    bench.driver.reconcile()

    told = [one.getMessage() for one in caplog.records if "is to stay in MIG mode" in one.getMessage()]
    assert len(told) == 1
    assert "in use by no process that can be seen" in told[0]
    assert bench.is_in_mig_mode(1)


def test_a_gpu_that_is_kept_in_mig_mode_is_refused_whole_with_the_reason(bench: Any) -> None:
    with_modes(bench, "0=mig:on")

    said = r"gpu-0 .*--gpu-modes has mig:on for it, or the policy of the node; the administrator"
    with pytest.raises(UnknownDevice, match=said):
        bench.prepare("u1", "gpu-0")

    assert bench.is_in_mig_mode()


def test_a_gpu_that_is_never_cut_refuses_partitions_with_the_reason_and_stays_as_it_is(bench: Any) -> None:
    with_modes(bench, "0=whole")

    with pytest.raises(
        UnknownDevice, match=rf"{HALF} .*gpu-0 is offered in other modes: .* has whole for it"
    ):
        bench.prepare("u1", HALF)

    assert bench.leftovers() == []


def test_a_claim_that_has_a_partition_when_its_gpu_is_to_be_cut_no_more_can_still_end(bench: Any) -> None:
    bench.prepare("u1", HALF)

    with_modes(bench, "0=whole")
    assert len(bench.instances()) == 1
    bench.unprepare("u1")

    assert bench.leftovers() == []
