"""At every point of every kind: a call is refused, fails late, hangs; the GPU is lost; the disk is full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import fault_matrix
import pytest
from devices_of_kinds import example_of, told
from fault_matrix import Outcome, Row, name_of, outcome_of, points, recorded_of
from fault_matrix.collecting import Note

from agent.hardware.errors import HardwareFault, TimedOut
from plugin.assembly import assemble
from plugin.base import files
from plugin.base.errors import HardwareHangs, PluginError, StorageFailed
from plugin.kinds.kind import PreparableKind
from plugin.kinds.table import AnyKind

HUNG_S = 100.0
"""Longer than any call into hardware may take."""


def named(value: object) -> str:
    if isinstance(value, Row):
        return value.fault.replace(" ", "-")
    return name_of(value) if isinstance(value, PreparableKind) else str(value)


def at(*rows: Row) -> Any:
    """Run a test at each point of rows."""
    found = [(row, kind, step) for row in rows for kind, step in points(row)]
    return pytest.mark.parametrize(("row", "kind", "step"), found, ids=named)


@pytest.fixture
def folder(used_folder: Path) -> Path:
    return used_folder


@pytest.fixture
def bench(bench_of_kind: Any, kind: AnyKind) -> Any:
    example_of(kind).prepare(bench_of_kind)
    return bench_of_kind


def prepare(bench: Any, kind: AnyKind, uid: str = "u1") -> None:
    example = example_of(kind)
    bench.driver.prepare(bench.claim(uid, example.device, configs=example.configs))


def left_of_mode(bench: Any) -> list[str]:
    """What is left where the MIG mode could not be turned off: the mode, and whose it is."""
    return [left for left in bench.leftovers() if "in MIG mode" in left or "/mig-modes/" in left]


class Trouble:
    """The driver of a bench on a machine on which something happens at one of its changes, once.

    Shape: ``step`` counts the moments before and after changes, from 1; ``point`` names the one it was.
    """

    def __init__(self, bench: Any, step: int, strike: Callable[[str], None]) -> None:
        self.step, self.strike = step, strike
        self.point = ""
        self._count = 0
        machine = told(
            bench.machine, lambda name: self._take("before", name), lambda name: self._take("after", name)
        )
        bench.driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)

    def _take(self, moment: str, name: str) -> None:
        self._count += 1
        if self._count == self.step:
            self.point = f"{moment} {name}"
            self.strike(name)


def refuse(name: str) -> None:
    raise HardwareFault(name, "the device", "the driver refuses")


def fail_late(name: str) -> None:
    raise TimedOut(name, "the device", "the driver did not answer")


def trouble_of(bench: Any, row: Row, step: int) -> Trouble:
    """Let the change of this number be refused, or fail when it is made."""
    if row.fault is fault_matrix.Fault.REFUSED:
        return Trouble(bench, 2 * step - 1, refuse)
    return Trouble(bench, 2 * step, fail_late)


@at(fault_matrix.REFUSED, fault_matrix.LATE)
def test_a_prepare_whose_call_fails_leaves_nothing_and_succeeds_when_it_is_repeated(
    bench: Any, note: Note, row: Row, kind: AnyKind, step: int
) -> None:
    before = bench.leftovers()
    trouble = trouble_of(bench, row, step)

    with pytest.raises(PluginError):
        prepare(bench, kind)

    assert trouble.point
    note(row, kind, step, trouble.point, outcome_of(bench, before=before))
    prepare(bench, kind)
    assert outcome_of(bench) is Outcome.KEPT
    bench.unprepare("u1")
    assert bench.leftovers() == []


@at(fault_matrix.UNDO_REFUSED, fault_matrix.UNDO_LATE)
def test_an_unprepare_whose_call_fails_is_finished_by_the_next_one(
    bench: Any, note: Note, row: Row, kind: AnyKind, step: int
) -> None:
    prepare(bench, kind)
    trouble = trouble_of(bench, row, step)
    is_told = True
    try:
        bench.unprepare("u1")
    except PluginError:
        assert outcome_of(bench) is Outcome.PARKED
    else:
        is_told = False

    bench.unprepare("u1")

    # To leave MIG mode is tried once: a GPU in that mode hurts nobody.
    mode = left_of_mode(bench)
    assert is_told or trouble.point.endswith("set_mig_mode")
    note(row, kind, step, trouble.point, outcome_of(bench, before=mode))


@contextmanager
def hanging(bench: Any, step: int, call: Callable[[], None]) -> Iterator[Trouble]:
    """Run a call whose change of this number hangs while the block runs; it has returned after it."""
    at_work, go_on = Event(), Event()

    def hang(_: str) -> None:
        at_work.set()
        go_on.wait()

    trouble = Trouble(bench, 2 * step - 1, hang)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(call)
        try:
            at_work.wait()
            bench.clock.now += HUNG_S
            yield trouble
        finally:
            go_on.set()
        running.result()


@at(fault_matrix.HANGS)
def test_while_a_call_of_prepare_hangs_others_are_told_at_once_and_its_claim_is_kept_in_the_end(
    bench: Any, note: Note, row: Row, kind: AnyKind, step: int
) -> None:
    with (
        hanging(bench, step, lambda: prepare(bench, kind)) as trouble,
        pytest.raises(HardwareHangs, match="has not returned for 100 s"),
    ):
        prepare(bench, kind, "u2")

    note(row, kind, step, trouble.point, outcome_of(bench))
    bench.unprepare("u1")
    assert bench.leftovers() == []


@at(fault_matrix.UNDO_HANGS)
def test_while_a_call_of_unprepare_hangs_others_are_told_at_once_and_nothing_is_left_in_the_end(
    bench: Any, note: Note, row: Row, kind: AnyKind, step: int
) -> None:
    prepare(bench, kind)

    with (
        hanging(bench, step, lambda: bench.unprepare("u1")) as trouble,
        pytest.raises(HardwareHangs, match="has not returned for 100 s"),
    ):
        prepare(bench, kind, "u2")

    note(row, kind, step, trouble.point, outcome_of(bench))
    assert bench.leftovers() == []


def lost(bench: Any, step: int) -> Trouble:
    """Let the first GPU fall off the bus at this moment."""
    return Trouble(bench, step, lambda _: bench.inject("gpu-0:lost"))


def is_back(bench: Any) -> None:
    """The GPU is back with all that was on it; the plugin starts again."""
    bench.simulated.clear_faults()
    bench.restart()


@at(fault_matrix.LOST)
def test_a_gpu_that_is_lost_during_a_prepare_keeps_nothing_once_it_is_back(
    bench: Any, note: Note, row: Row, kind: AnyKind, step: int
) -> None:
    before = bench.leftovers()
    trouble = lost(bench, step)

    with pytest.raises(PluginError) as refusal:
        prepare(bench, kind)
    recorded = recorded_of(bench)
    is_back(bench)
    bench.unprepare("u1")

    assert trouble.point
    assert refusal.value.claim_uid == "u1"
    assert outcome_of(bench, before=before) is Outcome.NOTHING
    note(row, kind, step, trouble.point, recorded or Outcome.NOTHING)


@at(fault_matrix.UNDO_LOST)
def test_a_gpu_that_is_lost_during_an_unprepare_lets_its_pod_end_and_keeps_nothing_once_it_is_back(
    bench: Any, note: Note, row: Row, kind: AnyKind, step: int
) -> None:
    prepare(bench, kind)
    trouble = lost(bench, step)

    bench.unprepare("u1")
    recorded = recorded_of(bench)
    is_back(bench)

    # To leave MIG mode is tried once: a GPU in that mode hurts nobody.
    mode = left_of_mode(bench)
    assert not mode or trouble.point == "before set_mig_mode"
    assert outcome_of(bench, before=mode) is Outcome.NOTHING
    note(row, kind, step, trouble.point, recorded or Outcome.NOTHING)


class FullDisk:
    """A disk on which one write or removal fails, counted from 1. Shape: ``point`` names it."""

    def __init__(self, bench: Any, step: int, patch: pytest.MonkeyPatch) -> None:
        self._step, self._count, self.point = step, 0, ""
        folders = {
            bench.options.claims_dir: "the record",
            bench.options.cdi_dir: "the document",
            bench.options.mig_modes_dir: "whose MIG mode it is",
        }
        deeds = {"replace": "half written", "append": "half a line more", "remove": "before it is removed"}

        def limited(name: str, does: Callable[..., Any]) -> Callable[..., Any]:
            def limited(path: Path, *arguments: Any, **options: Any) -> Any:
                self._count += name != "remove" or path.exists()
                if self._count == self._step and not self.point:
                    self.point = f"{folders.get(path.parent, 'another file')}: {deeds[name]}"
                    if name == "append":  # as much as there is room for
                        does(path, arguments[0][: len(arguments[0]) // 2], *arguments[1:])
                    raise StorageFailed("write", str(path), "No space left on device")
                return does(path, *arguments, **options)

            return limited

        for name in deeds:
            patch.setattr(files, name, limited(name, getattr(files, name)))


@at(fault_matrix.FULL)
def test_a_prepare_for_which_the_disk_is_full_leaves_nothing_and_succeeds_when_it_is_repeated(
    bench: Any, note: Note, monkeypatch: pytest.MonkeyPatch, row: Row, kind: AnyKind, step: int
) -> None:
    before = bench.leftovers()
    with monkeypatch.context() as patch:
        disk = FullDisk(bench, step, patch)
        with pytest.raises(StorageFailed, match="No space left"):
            prepare(bench, kind)

    note(row, kind, step, disk.point, outcome_of(bench, before=before))
    prepare(bench, kind)
    bench.unprepare("u1")
    assert bench.leftovers() == []


@at(fault_matrix.UNDO_FULL)
def test_an_unprepare_for_which_the_disk_is_full_is_finished_by_the_next_one(
    bench: Any, note: Note, monkeypatch: pytest.MonkeyPatch, row: Row, kind: AnyKind, step: int
) -> None:
    prepare(bench, kind)
    with monkeypatch.context() as patch:
        disk = FullDisk(bench, step, patch)
        is_told = False
        try:
            bench.unprepare("u1")
        except StorageFailed:
            is_told = True

    bench.unprepare("u1")

    # Whose MIG mode it was matters to nobody while the mode is off.
    mode = left_of_mode(bench)
    assert is_told or disk.point.startswith("whose MIG mode it is")
    note(row, kind, step, disk.point, outcome_of(bench, before=mode))
    assert set(bench.leftovers()) <= set(mode)
