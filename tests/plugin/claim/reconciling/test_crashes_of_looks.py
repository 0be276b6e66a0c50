"""A process killed at any step of a look leaves what the next look, or a start, brings to the right end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fault_matrix
import pytest
from devices_of_kinds import example_of, steps_of_unprepare
from fault_matrix import STEPS_OF_REWRITING, Row, outcome_of, points
from fault_matrix.collecting import Note

from plugin.claim.states import State
from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind

REWRITING, ENDING = points(fault_matrix.REWRITTEN), points(fault_matrix.ENDED)
STARTED = points(fault_matrix.ENDED_LATER)
"""After which a start is tried, too: every kind's is in the crashes of unprepare."""
Dies = Callable[[str, AnyKind, int], str]


def named(value: object) -> str | None:
    return None if isinstance(value, int) else type(value).__name__


@pytest.fixture
def folder(used_folder: Path) -> Path:
    return used_folder


@pytest.fixture
def bench(bench_of_kind: Any, kind: AnyKind) -> Any:
    """The machine with the example of the kind prepared."""
    example = example_of(kind)
    example.prepare(bench_of_kind)
    bench_of_kind.driver.prepare(bench_of_kind.claim("u1", example.device, configs=example.configs))
    return bench_of_kind


def looked(bench: Any, heard: Any) -> None:
    bench.driver.looks(heard).look()


def then(row: Row) -> str:
    return row.then


@pytest.mark.parametrize(("kind", "step"), REWRITING, ids=named)
@pytest.mark.parametrize("row", [fault_matrix.REWRITTEN, fault_matrix.REWRITTEN_LATER], ids=then)
def test_killed_while_it_writes_a_document_again_the_next_look_writes_the_same(
    bench: Any, heard: Any, dies: Dies, note: Note, kind: AnyKind, step: int, row: Row
) -> None:
    before = bench.document("u1").read_bytes()
    bench.document("u1").unlink()
    point = dies("look", kind, step)
    assert point

    if row is fault_matrix.REWRITTEN_LATER:
        bench.restart()
    looked(bench, heard)

    note(row, kind, step, point, outcome_of(bench))
    assert bench.document("u1").read_bytes() == before
    assert [path.name for path in bench.options.cdi_dir.iterdir()] == [bench.document("u1").name]
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), ENDING, ids=named)
def test_killed_while_it_undoes_a_claim_that_is_over_the_next_look_leaves_nothing_half_undone(
    bench: Any, heard: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    point = dies("look-long", kind, step)
    assert point

    bench.driver.parked.look_after()
    looked(bench, heard)

    note(fault_matrix.ENDED, kind, step, point, outcome_of(bench))
    assert all(record.state is State.COMPLETED for record in bench.records())
    assert bool(bench.records()) == bench.document("u1").exists()
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), STARTED, ids=named)
def test_killed_while_it_undoes_a_claim_that_is_over_the_next_start_leaves_nothing_half_undone(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    point = dies("look-long", kind, step)
    assert point

    bench.restart()

    note(fault_matrix.ENDED_LATER, kind, step, point, outcome_of(bench))
    assert bool(bench.records()) == bench.document("u1").exists()
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize("kind", KINDS.preparable, ids=named)
def test_no_step_of_a_look_was_forgotten(bench: Any, dies: Dies, kind: AnyKind) -> None:
    assert not dies("look", kind, 1), "a look at what is as it was changes nothing"
    bench.document("u1").unlink()
    assert not dies("look", kind, STEPS_OF_REWRITING + 1)
    assert bench.document("u1").exists()

    assert not dies("look-long", kind, steps_of_unprepare(kind) + 1)
    assert bench.leftovers() == []
