"""A process killed at any step leaves a fabric that the next calls put right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fault_matrix
import pytest
from devices_of_kinds import STEPS_OF_DOCUMENT, example_of
from fault_matrix import JOINING, outcome_of, points, steps_of_joining, steps_of_parting
from fault_matrix.collecting import Note

from plugin.kinds.table import AnyKind

Dies = Callable[[str, AnyKind, int], str]
PREPARING, UNDOING = points(fault_matrix.JOINED), points(fault_matrix.PARTED)


@pytest.fixture
def bench(fabric_bench: Any) -> Any:
    return fabric_bench


@pytest.mark.parametrize(("kind", "step"), PREPARING)
def test_killed_in_prepare_a_start_leaves_nothing_of_what_was_not_finished(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    example = example_of(kind)
    example.prepare(bench)
    before = set(bench.leftovers())
    point = dies("prepare", kind, step)
    assert point
    is_finished = step > steps_of_joining(kind) - STEPS_OF_DOCUMENT

    bench.restart()

    assert bool(set(bench.leftovers()) - before) == is_finished
    note(fault_matrix.JOINED, kind, step, point, outcome_of(bench, before=before))
    assert [one.device for one in bench.prepare("u1", example.device)] == [example.device]
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), PREPARING)
def test_killed_in_prepare_the_next_prepare_goes_on_without_a_start(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    example = example_of(kind)
    example.prepare(bench)
    point = dies("prepare", kind, step)
    assert point

    assert [one.device for one in bench.prepare("u1", example.device)] == [example.device]
    note(fault_matrix.JOINED_AGAIN, kind, step, point, outcome_of(bench))

    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), PREPARING)
def test_killed_in_prepare_and_rebooted_nothing_is_left(
    bench: Any, dies: Dies, kind: AnyKind, step: int
) -> None:
    example_of(kind).prepare(bench)
    assert dies("prepare", kind, step)
    bench.simulated.reboot()

    bench.restart()

    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), UNDOING)
@pytest.mark.parametrize("is_restarted", [True, False])
def test_killed_in_unprepare_the_next_unprepare_leaves_nothing(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int, is_restarted: bool
) -> None:
    bench.prepare("u1", example_of(kind).device)
    point = dies("unprepare", kind, step)
    assert point
    if is_restarted:
        bench.restart()

    bench.unprepare("u1")

    bench.restart()
    row = fault_matrix.PARTED_LATER if is_restarted else fault_matrix.PARTED
    note(row, kind, step, point, outcome_of(bench))
    assert bench.leftovers() == []


@pytest.mark.parametrize("kind", JOINING)
def test_no_step_was_forgotten(bench: Any, dies: Dies, kind: AnyKind) -> None:
    example_of(kind).prepare(bench)

    assert not dies("prepare", kind, steps_of_joining(kind) + 1)
    assert not dies("unprepare", kind, steps_of_parting(kind) + 1)
    assert bench.leftovers() == []
