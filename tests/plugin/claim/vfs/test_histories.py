"""Any order of claims, faults, starts, reboots and people: VFs exist if needed, and none vanishes in use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from short_folders import short_folder

from agent.hardware.types import Bdf
from agent.inventory.vfs.rules import VfRule, VfRules
from plugin.base.errors import PluginError
from plugin.claim.states import State

PF = Bdf("0000:19:00.1")
NIC = "nic-0000-19-00-1"
DEVICES = (NIC, *(f"{NIC}-vf-{index}" for index in range(3)), "nic-0000-19-00-0-vf-0")
UIDS = st.sampled_from(["u1", "u2", "u3"])
ERRORS = ("in-use", "no-space", "hardware-fault")
MOST_ASKED = 3
RULES: Mapping[str, VfRules | None] = {
    "three on demand": VfRules({PF: VfRule(3, on_demand=True)}),
    "two on demand": VfRules({PF: VfRule(2, on_demand=True)}),
    "two always": VfRules({PF: VfRule(2)}),
    "three always": VfRules({PF: VfRule(3)}),
    "none": None,
}


def claims_over(make: Any) -> type[RuleBasedStateMachine]:  # noqa: C901 - one class in a function
    class Claims(RuleBasedStateMachine):
        """The driver against a model that knows what was promised, and what people did."""

        def __init__(self) -> None:
            super().__init__()
            self.temporary = short_folder()
            self.bench = make(Path(self.temporary.name), RULES["three on demand"])
            self.promised: dict[str, tuple[str, ...]] = {}
            self.by_hand: int | None = None
            self.vanished_by_hand = False
            self.is_always = self.was_always = False

        @initialize()
        def start(self) -> None:
            self.bench.restart()

        @rule(uid=UIDS, devices=st.lists(st.sampled_from(DEVICES), min_size=1, max_size=2, unique=True))
        def prepare(self, uid: str, devices: list[str]) -> None:
            wanted = self.promised.get(uid, tuple(devices))
            try:
                self.bench.prepare(uid, *wanted)
            except PluginError:
                return
            self.promised[uid] = wanted

        @rule(uid=UIDS)
        def unprepare(self, uid: str) -> None:
            self.promised.pop(uid, None)
            try:
                self.bench.unprepare(uid)
            except PluginError:
                return  # it may have been undone in part
            assert uid not in {record.claim_uid for record in self.bench.records()}

        @rule(name=st.sampled_from(sorted(RULES)))
        def start_with_other_rules(self, name: str) -> None:
            self.is_always = "always" in name
            self.was_always |= self.is_always
            self.bench.with_rules(RULES[name])

        @rule()
        def keep(self) -> None:
            self.bench.driver.vf_keeper.keep(lambda *_: None)

        @rule()
        def reboot(self) -> None:
            self.bench.simulated.reboot()
            self.bench.simulated.set_vfs(PF, 0)
            self.bench.restart()
            self.promised.clear()
            self.by_hand, self.vanished_by_hand, self.was_always = None, False, self.is_always

        @rule(error=st.sampled_from(ERRORS), times=st.integers(1, 2))
        def break_something(self, error: str, times: int) -> None:
            self.bench.inject(f"nic-1:set-vfs:{error}:{times}")

        @rule(count=st.integers(0, 4))
        def set_the_number_by_hand(self, count: int) -> None:
            if self.bench.driver.vf_keeper.made.nics() and 0 < count <= MOST_ASKED:
                return  # as many as were made before are taken for them (decision 0052)
            self.vanished_by_hand = bool(self.holders())
            self.bench.simulated.set_vfs(PF, 0)
            self.bench.simulated.set_vfs(PF, count)
            self.by_hand = count or None

        def holders(self) -> set[str]:
            """The claims whose records name a function of the NIC."""
            found = self.bench.records()
            return {one.claim_uid for one in found for device in one.devices if NIC in device.device}

        @invariant()
        def what_somebody_set_by_hand_is_there(self) -> None:
            if self.by_hand is not None:
                assert self.bench.vfs() == self.by_hand

        @invariant()
        def no_vf_vanishes_under_its_claim(self) -> None:
            if not self.holders():
                self.vanished_by_hand = False
            if self.vanished_by_hand:
                return
            for record in self.bench.records():
                for device in record.devices if record.state is State.COMPLETED else ():
                    if device.hardware.vf is not None:
                        at = self.bench.machine.nics.reader.virtual_function(device.pf, device.vf_index)
                        assert at == device.bdf

        @invariant()
        def every_promised_claim_has_a_completed_record(self) -> None:
            found = [one for one in self.bench.records() if one.state is State.COMPLETED]
            completed = {one.claim_uid: tuple(device.device for device in one.devices) for one in found}
            assert self.promised.items() <= completed.items()

        @invariant()
        def no_vfs_are_there_that_nobody_needs(self) -> None:
            if not self.holders() and self.by_hand is None and not self.was_always:
                assert self.bench.vfs() == 0

        @invariant()
        def the_nic_is_never_held_beside_its_vfs(self) -> None:
            held = [device.device for record in self.bench.records() for device in record.devices]
            assert held.count(NIC) <= 1
            assert NIC not in held or not any(one.startswith(f"{NIC}-vf") for one in held)
            assert len(set(held)) == len(held)

        def teardown(self) -> None:
            self.bench.simulated.clear_faults()
            self.bench.with_rules(RULES["three on demand"])
            for uid in ("u1", "u2", "u3"):
                self.bench.unprepare(uid)
            self.bench.driver.vf_keeper.keep(lambda *_: None)
            self.bench.restart()
            left, vfs = self.bench.leftovers(), self.bench.vfs()
            self.temporary.cleanup()
            assert left == []
            assert vfs == (self.by_hand or 0)

    return Claims


@pytest.mark.timeout(300)
def test_in_any_order_of_events_vfs_exist_if_needed_and_nobodys_vanishes(vf_bench_in: Any) -> None:
    run_state_machine_as_test(
        claims_over(vf_bench_in),
        settings=settings(
            max_examples=15,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
