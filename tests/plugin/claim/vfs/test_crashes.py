"""A process killed at any step of making or removing VFs leaves what the next one brings to the right end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fault_matrix
import pytest
from devices_of_kinds import (
    STATIC,
    STEPS_OF_DOCUMENT,
    VF_KINDS,
    VF_ON_DEMAND,
    example_of,
    steps_of_prepare,
)
from fault_matrix import STEPS_OF_MAKING, STEPS_OF_REMOVING, outcome_of, points
from fault_matrix.collecting import Note

from agent.inventory.vfs.rules import VfRule, VfRules
from plugin.claim.plan import PreparedDevice
from plugin.kinds.kind import PreparableKind
from plugin.kinds.table import AnyKind

PREPARING, UNDOING = points(fault_matrix.VFS_MADE), points(fault_matrix.VFS_REMOVED)
ALL_PREPARING, ALL_UNDOING = dict(PREPARING), dict(UNDOING)
"""The last step of each kind."""
ANSWER = (PreparedDevice(("r",), "a30x4", VF_ON_DEMAND, (f"tangram.dev/claim=u1-{VF_ON_DEMAND}",)),)
NIC = "0000:19:00.1"
Dies = Callable[..., str]


def named(value: object) -> str | None:
    return type(value).__name__ if isinstance(value, PreparableKind) else None


@pytest.fixture
def dies(dies: Callable[[str, AnyKind, int], str]) -> Dies:
    """As everywhere, of one of the kinds."""
    return lambda deed, step, kind=VF_KINDS[0]: dies(deed, kind, step)


def prepare(bench: Any, kind: AnyKind) -> Any:
    return bench.driver.prepare(bench.claim("u1", VF_ON_DEMAND, configs=example_of(kind).configs))


@pytest.mark.parametrize(("kind", "step"), PREPARING, ids=named)
def test_killed_in_prepare_the_vfs_are_there_only_if_the_claim_was_prepared(
    vf_bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    point = dies("prepare+vfs", step, kind)
    assert point
    is_finished = step > ALL_PREPARING[kind] - STEPS_OF_DOCUMENT

    vf_bench.restart()

    assert vf_bench.vfs() == (3 if is_finished else 0)
    assert bool(vf_bench.leftovers()) == is_finished
    note(fault_matrix.VFS_MADE, kind, step, point, outcome_of(vf_bench))
    assert prepare(vf_bench, kind) == ANSWER
    vf_bench.unprepare("u1")
    assert vf_bench.vfs() == 0
    assert vf_bench.leftovers() == []


@pytest.mark.parametrize("kind", VF_KINDS, ids=named)
def test_no_step_of_making_and_removing_was_forgotten(vf_bench: Any, dies: Dies, kind: AnyKind) -> None:
    assert not dies("prepare+vfs", ALL_PREPARING[kind] + 1, kind)
    assert not dies("unprepare+vfs", ALL_UNDOING[kind] + 1, kind)
    assert vf_bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), UNDOING, ids=named)
def test_killed_in_unprepare_the_next_unprepare_removes_them(
    vf_bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    prepare(vf_bench, kind)
    point = dies("unprepare+vfs", step, kind)
    assert point

    vf_bench.restart()
    vf_bench.unprepare("u1")

    assert vf_bench.vfs() == 0
    assert vf_bench.leftovers() == []
    note(fault_matrix.VFS_REMOVED, kind, step, point, outcome_of(vf_bench))


@pytest.mark.parametrize("step", range(1, steps_of_prepare(VF_KINDS[0]) + 1))
def test_killed_in_prepare_the_vfs_of_another_claim_stay(vf_bench: Any, dies: Dies, step: int) -> None:
    vf_bench.prepare("u2", "nic-0000-19-00-1-vf-0")
    assert dies("prepare+vfs", step)

    vf_bench.restart()
    vf_bench.unprepare("u1")
    assert vf_bench.vfs() == 3
    vf_bench.unprepare("u2")

    assert vf_bench.vfs() == 0
    assert vf_bench.leftovers() == []


@pytest.mark.parametrize("step", range(1, STEPS_OF_MAKING + 1))
def test_killed_while_a_fixed_number_is_made_the_next_start_makes_it_and_knows_it_as_ours(
    vf_bench: Any, dies: Dies, step: int
) -> None:
    assert dies("keep", step)

    vf_bench.with_rules(STATIC).vf_keeper.keep(lambda *_: None)
    assert vf_bench.vfs() == 3
    vf_bench.with_rules(VfRules({NIC: VfRule(4)})).vf_keeper.keep(lambda *_: None)
    assert vf_bench.vfs() == 4


@pytest.mark.parametrize("step", range(1, STEPS_OF_REMOVING + STEPS_OF_MAKING + 1))
def test_killed_while_a_fixed_number_is_replaced_the_next_start_ends_it(
    vf_bench: Any, dies: Dies, step: int
) -> None:
    vf_bench.with_rules(VfRules({NIC: VfRule(2)})).vf_keeper.keep(lambda *_: None)
    assert dies("keep", step)

    vf_bench.with_rules(STATIC).vf_keeper.keep(lambda *_: None)

    assert vf_bench.vfs() == 3
    assert not dies("keep", 1)
