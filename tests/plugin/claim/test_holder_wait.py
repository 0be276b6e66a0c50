"""A claim whose devices another claim is about to let go waits a little, instead of failing for seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from plugin.base.budget import Budget, Budgets
from plugin.base.errors import DeviceHeld
from plugin.claim.plan import PreparedDevice
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-0"
WAIT_S = 5.0


@dataclass
class Meanwhile:
    """Time that passes only while somebody waits, and what happens in the third moment of it."""

    happens: Callable[[], object] = lambda: None
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if len(self.slept) == 3:
            self.happens()

    def budget(self, *, is_wanted: bool = True, remaining_s: float | None = None) -> Budget:
        budgets = Budgets(wait_s=40.0, holder_wait_s=WAIT_S, clock=self.clock, sleep=self.sleep)
        return budgets.begin(lambda: is_wanted, remaining_s)


def prepare(bench: Any, uid: str, device: str, budget: Budget) -> tuple[PreparedDevice, ...]:
    driver = bench.driver
    with driver.opened(ClaimUid(uid), ClaimRef("default", f"claim-{uid}"), budget) as preparation:
        prepared: tuple[PreparedDevice, ...] = driver.finish(preparation, bench.claim(uid, device))
    return prepared


def test_a_device_that_is_let_go_meanwhile_is_prepared_at_once(bench: Any) -> None:
    bench.prepare("u1", HALF)
    meanwhile = Meanwhile(lambda: bench.unprepare("u1"))

    (device,) = prepare(bench, "u2", HALF, meanwhile.budget())

    assert device.device == HALF
    assert len(meanwhile.slept) == 3
    assert [record.uid for record in bench.records()] == ["u2"]
    assert len(bench.instances()) == 1


def test_after_the_wait_the_holder_is_named_and_nothing_has_changed(bench: Any) -> None:
    bench.prepare("u1", HALF)
    before = (bench.instances(), bench.records())
    meanwhile = Meanwhile()

    with pytest.raises(DeviceHeld, match=r"held by claim default/claim-u1 \(completed\)"):
        prepare(bench, "u2", HALF, meanwhile.budget())

    assert meanwhile.clock() == pytest.approx(WAIT_S, abs=0.1)
    assert (bench.instances(), bench.records()) == before


def test_who_waits_holds_up_no_other_claim_of_the_same_gpu(bench: Any) -> None:
    bench.prepare("u1", HALF)
    other = bench.another_driver()

    def others_come_and_go() -> None:
        other.prepare(bench.claim("u3", SMALL))
        other.unprepare(ClaimUid("u1"), ClaimRef("default", "claim-u1"))

    (device,) = prepare(bench, "u2", HALF, Meanwhile(others_come_and_go).budget())

    assert device.device == HALF
    assert {record.uid for record in bench.records()} == {"u2", "u3"}


def test_nobody_waits_for_a_caller_that_hung_up(bench: Any) -> None:
    bench.prepare("u1", HALF)
    meanwhile = Meanwhile()

    with pytest.raises(DeviceHeld):
        prepare(bench, "u2", HALF, meanwhile.budget(is_wanted=False))

    assert meanwhile.slept == []


def test_what_an_earlier_allocation_left_is_undone_once_and_not_waited_for(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    bench.prepare("u1", HALF)
    bench.prepare("u2", SMALL)
    seen: list[list[str]] = []

    def look_and_let_go() -> None:
        seen.append([record.uid for record in bench.records()])
        bench.unprepare("u1")

    (device,) = prepare(bench, "u2", HALF, Meanwhile(look_and_let_go).budget())

    assert device.device == HALF
    assert seen == [["u1"]]
    assert caplog.messages.count("claim default/claim-u2 (u2): unprepared") == 1
    assert [held.device for record in bench.records() for held in record.devices] == [HALF]
    bench.unprepare("u2")
    assert bench.leftovers() == []


def test_the_claims_of_one_call_share_its_wait(bench: Any) -> None:
    bench.prepare("u1", HALF)
    meanwhile = Meanwhile()
    budget = meanwhile.budget()

    for uid in ("u2", "u3"):
        with pytest.raises(DeviceHeld):
            prepare(bench, uid, HALF, budget)

    assert meanwhile.clock() == pytest.approx(WAIT_S, abs=0.1)


def test_a_caller_that_waits_less_long_gets_its_refusal_in_time(bench: Any) -> None:
    bench.prepare("u1", HALF)
    meanwhile = Meanwhile()

    with pytest.raises(DeviceHeld):
        prepare(bench, "u2", HALF, meanwhile.budget(remaining_s=1.8))

    assert meanwhile.clock() == pytest.approx(1.6, abs=0.1)
