"""A fixed number of VFs: made where there are none, changed when none is in use, told where it cannot be."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unreadable_files import UNREADABLE

from agent.hardware.types import Bdf
from agent.inventory.vfs.rules import VfRule, VfRules
from plugin.base.errors import StorageFailed
from plugin.claim.vfs.judgement import VfDeed, VfState, judge
from plugin.claim.vfs.keeper import VfKeeper
from plugin.machine.made_vfs import MadeVfs

PF = Bdf("0000:19:00.1")
NIC = "nic-0000-19-00-1"
VF = f"{NIC}-vf-0"
NONE_ASKED = VfRules({PF: None})


def static(count: int) -> VfRules:
    return VfRules({PF: VfRule(count)})


def on_demand(count: int) -> VfRules:
    return VfRules({PF: VfRule(count, on_demand=True)})


@pytest.fixture
def bench(vf_bench: Any) -> Any:
    """A machine with a NIC that has no VFs and can have four."""
    vf_bench.with_rules(static(2))
    return vf_bench


def keep(bench: Any, rules: VfRules | None = None) -> tuple[bool, list[str]]:
    """Let the plugin do what is due, started again with other rules if there are any; return what it told."""
    if rules is not None:
        bench.with_rules(rules)
    told: list[str] = []
    is_done = bench.driver.vf_keeper.keep(lambda _reason, text: told.append(text))
    return is_done, told


def test_a_nic_without_vfs_gets_the_number_that_is_asked_for(bench: Any) -> None:
    assert keep(bench) == (True, [])
    assert bench.vfs() == 2

    assert bench.prepare("u1", VF)
    bench.unprepare("u1")
    assert bench.vfs() == 2


def test_what_is_right_already_is_left_alone_whoever_made_it(bench: Any) -> None:
    bench.simulated.set_vfs(PF, 2)

    assert keep(bench) == (True, [])
    assert bench.driver.vf_keeper.made.nics() == ()


def test_another_number_waits_until_no_claim_has_a_vf_and_comes_then(bench: Any) -> None:
    keep(bench)
    bench.prepare("u1", VF)

    is_done, (told,) = keep(bench, static(4))
    assert is_done
    assert told.startswith(f"NIC {PF} does not have the 4 VFs that are asked for: it has 2, and claims have")
    assert bench.vfs() == 2
    bench.unprepare("u1")

    assert keep(bench) == (True, [])
    assert bench.vfs() == 4


def test_no_vfs_are_made_on_a_nic_that_a_claim_has_whole(bench: Any) -> None:
    bench.prepare("u1", NIC)

    _, (told,) = keep(bench)

    assert "claims have functions of it" in told
    assert bench.vfs() == 0


def test_another_number_that_somebody_set_by_hand_stays_and_is_told_with_who_acts(bench: Any) -> None:
    bench.simulated.set_vfs(PF, 3)

    _, (told,) = keep(bench)

    assert "it has 3 that somebody else made; the operator removes them when nobody uses them" in told
    assert bench.vfs() == 3
    bench.simulated.set_vfs(PF, 0)  # the operator does
    keep(bench)
    assert bench.vfs() == 2


def test_what_waits_is_told_once_and_again_when_the_reason_changes(bench: Any) -> None:
    bench.simulated.set_vfs(PF, 3)

    told: list[tuple[str, str]] = []
    for count in (3, 3, 1):
        bench.simulated.set_vfs(PF, 0)
        bench.simulated.set_vfs(PF, count)
        bench.driver.vf_keeper.keep(lambda reason, text: told.append((reason, text)))

    assert [reason for reason, _ in told] == ["VfsNotAsAsked"] * 2


@pytest.mark.parametrize(
    ("fault", "told_as"),
    [
        ("no-space", "no interrupt vectors or bus numbers left"),
        ("in-use", "their number changes only by way of 0"),
        ("hardware-fault", "EIO"),
    ],
)
def test_what_the_kernel_refuses_is_told_and_tried_again(bench: Any, fault: str, told_as: str) -> None:
    bench.inject(f"nic-1:set-vfs:{fault}:1")

    is_done, (told,) = keep(bench)

    assert not is_done
    assert told_as in told
    assert keep(bench) == (True, [])
    assert bench.vfs() == 2


def test_more_than_the_nic_can_have_is_told_with_who_acts(bench: Any) -> None:
    is_done, (told,) = keep(bench, static(5))

    assert not is_done
    assert "ERANGE" in told
    assert "the operator asks for fewer, or raises the number in the NIC's firmware" in told
    assert bench.driver.vf_keeper.made.nics() == ()


def test_fewer_than_asked_are_kept_and_told_and_not_made_again_and_again(bench: Any) -> None:
    bench.inject("nic-1:fewer-vfs=2")

    _, (told,) = keep(bench, static(4))
    assert (
        "its driver made 2; the operator asks for that number, or raises the limit in the NIC's firmware"
        in told
    )
    assert bench.vfs() == 2
    bench.inject("nic-1:set-vfs:hardware-fault")  # any other change would be told

    assert keep(bench) == (True, [])


def test_a_nic_that_refuses_does_not_keep_another_from_its_vfs(bench: Any) -> None:
    bench.inject("nic-0:set-vfs:hardware-fault")
    bench.simulated.set_vfs("0000:19:00.0", 0)

    is_done, told = keep(bench, VfRules({}, VfRule(2)))

    assert not is_done
    assert len(told) == 1
    assert bench.vfs() == 2


def test_the_rule_for_all_does_not_concern_a_nic_that_is_named(bench: Any) -> None:
    keep(bench, VfRules({PF: None}, VfRule(2)))

    assert bench.vfs() == 0
    assert bench.vfs("0000:19:00.0") == 2


def test_what_was_made_before_is_removed_when_it_is_to_be_made_on_demand(bench: Any) -> None:
    keep(bench)
    bench.prepare("u1", VF)

    keep(bench, on_demand(3))
    assert bench.vfs() == 2
    bench.unprepare("u1")
    keep(bench)

    assert bench.vfs() == 0
    assert bench.leftovers() == []


@pytest.mark.parametrize("rules", [NONE_ASKED, VfRules()])
def test_what_was_made_stays_when_the_rule_goes(bench: Any, rules: VfRules) -> None:
    keep(bench)

    keep(bench, rules)

    assert bench.vfs() == 2


def test_what_vanished_is_forgotten_at_the_next_start_so_that_nobody_elses_are_taken_for_ours(
    bench: Any,
) -> None:
    keep(bench)
    bench.simulated.set_vfs(PF, 0)
    bench.restart()
    bench.simulated.set_vfs(PF, 2)

    _, (told,) = keep(bench, static(3))

    assert "somebody else made" in told
    assert bench.vfs() == 2


def made_on(bench: Any, nic: Bdf = PF) -> Path:
    """Return the file of what was made on a NIC."""
    found: Path = bench.options.made_vfs_dir / f"{nic}.json"
    return found


@pytest.mark.parametrize("harm", sorted(UNREADABLE))
def test_a_claim_ends_and_its_vfs_stay_where_the_file_of_who_made_them_cannot_be_read(
    bench: Any, harm: str
) -> None:
    bench.with_rules(on_demand(3))
    bench.prepare("u1", VF)
    assert made_on(bench).is_file()
    UNREADABLE[harm](made_on(bench))

    bench.unprepare("u1")

    assert bench.vfs() == 3
    assert (bench.records(), bench.driver.vf_keeper.made.nics()) == ((), ())


def test_a_folder_in_the_place_of_a_record_is_moved_aside_and_keeps_no_other_nic_from_being_checked(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    keep(bench)
    bench.simulated.set_vfs(PF, 0)
    bad = made_on(bench, Bdf("0000:19:00.0"))
    (bad / "precious").mkdir(parents=True)

    bench.restart()

    assert bench.driver.vf_keeper.made.nics() == (), "what was made on the second NIC is forgotten"
    assert f"{bad.name} was not a file of this driver; it was moved to" in caplog.text


def test_too_many_open_files_do_not_make_vfs_somebody_elses(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(bench)
    made = bench.driver.vf_keeper.made

    def full(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        with pytest.raises(StorageFailed, match="Too many open files"):
            made.load(PF, "any")


def test_a_record_that_cannot_be_read_keeps_the_number(bench: Any) -> None:
    keep(bench)
    bench.prepare("u1", VF)
    (bench.options.claims_dir / "u1.json").write_text("{}\n")

    _, (told,) = keep(bench, static(4))

    assert "not all records of claims can be read" in told
    assert bench.vfs() == 2


def test_without_rules_nothing_is_read(bench: Any) -> None:
    class NoMachine:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} was asked for")

    keeper = bench.driver.vf_keeper
    idle = VfKeeper(
        machine=NoMachine(), store=keeper.store, made=keeper.made, locks=keeper.locks, rules=lambda: None
    )

    assert idle.keep(lambda *_: None)


STATES = st.builds(
    VfState,
    present=st.integers(0, 4),
    made=st.none()
    | st.builds(MadeVfs, boot_id=st.just("b"), asked=st.integers(1, 4), made=st.integers(1, 4)),
    is_held=st.sampled_from([True, False, None]),
)


@given(st.none() | st.builds(VfRule, st.integers(1, 4), st.booleans()), STATES)
def test_nothing_in_use_and_nothing_of_somebody_else_is_ever_removed(
    rule: VfRule | None, state: VfState
) -> None:
    due = judge(rule, state)

    if due.deed in (VfDeed.REMOVE, VfDeed.REPLACE):
        assert state.made is not None
        assert state.is_held is False
    if due.deed is VfDeed.MAKE:
        assert state.present == 0
        assert state.is_held is False
    if rule is None:
        assert due.deed is VfDeed.NOTHING
    elif not rule.on_demand and state.present != rule.count:
        assert due.why or due.deed in (VfDeed.MAKE, VfDeed.REPLACE)
