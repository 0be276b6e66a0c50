"""The fault matrix has every point of every kind, and tells what is missing."""

from __future__ import annotations

from typing import Any

import fault_matrix
import pytest
from fault_matrix import LEAST, PLAN, STEPS, Combination, Outcome, missing, name_of
from fault_matrix.collecting import DOCUMENT
from fault_matrix.tables import BEGIN, documented, replaced, told

from plugin.kinds.registry import KINDS

ONE = Combination(fault_matrix.STARTED, "WholeGpu", 1, "the record: half written", Outcome.NOTHING)


def test_the_plan_is_large_enough_and_every_kind_can_be_killed_at_all_its_points() -> None:
    assert len(PLAN) >= LEAST
    for kind in KINDS.preparable:
        changes = kind.crash_points.setting_up + kind.crash_points.taking_down + kind.crash_points.noted
        points = [key for key in PLAN if key[1] == name_of(kind)]
        assert len(points) > 2 * len(changes)


@pytest.mark.parametrize("kind", KINDS.preparable, ids=name_of)
def test_every_change_of_a_kind_is_refused_fails_late_and_hangs(kind: object) -> None:
    rows = {
        (deed, fault): len([key for key in PLAN if key[0][:2] == (deed, fault) and key[1] == name_of(kind)])
        for deed in ("prepare", "unprepare")
        for fault in (fault_matrix.Fault.REFUSED, fault_matrix.Fault.LATE, fault_matrix.Fault.HANGS)
    }

    made, undone = fault_matrix.changes(kind), fault_matrix.undone(kind)
    assert list(rows.values()) == [made] * 3 + [undone] * 3


def test_a_combination_that_was_not_tried_is_named() -> None:
    def at(row: fault_matrix.Row, kind: str, step: int) -> Combination:
        return Combination(row, kind, step, "", Outcome.NOTHING)

    everything = [at(*key) for key in PLAN]

    assert missing(everything) == []
    (text,) = missing([one for one in everything if (one.row, one.kind, one.step) != (ONE.row, ONE.kind, 1)])
    assert text == "WholeGpu, prepare, process killed, then start: step 1 was not tried"


def test_a_combination_comes_back_from_a_report_as_it_was() -> None:
    assert Combination.from_list(ONE.to_list()) == ONE


def test_the_matrix_is_told_with_its_count_and_written_into_its_region() -> None:
    assert list(told([ONE]))[-1].startswith("1 combinations")
    assert "nothing left 1" in next(told([ONE]))

    document = replaced(f"above\n{BEGIN}\nold\n<!-- /matrix -->\nbelow\n", documented([ONE]))

    assert "old" not in document
    assert "| the record: half written | nothing left 1 |" in document
    assert document.startswith("above\n")
    assert document.endswith("\nbelow\n")


@pytest.mark.parametrize("kind", KINDS.preparable, ids=name_of)
def test_the_document_has_every_kind_and_each_of_its_changes(kind: Any) -> None:
    """Where it does not: make fault-matrix."""
    document = DOCUMENT.read_text()
    calls = {*kind.crash_points.setting_up, *kind.crash_points.taking_down}

    assert f"| {name_of(kind)} |" in document
    assert [one for one in calls if f"| before {one} |" not in document] == []
    assert int(document.partition(BEGIN)[2].split(maxsplit=1)[0]) >= LEAST


def test_every_row_of_the_plan_has_points() -> None:
    assert {key[0] for key in PLAN} == STEPS.keys()
