"""A process that is killed at any step on the disk leaves a state from which the right end is reached."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plugin.claim.plan import PreparedDevice

PROGRAM = Path(__file__).parent / "programs" / "dying_driver.py"
HALF = "gpu-0-mig-3g-20gb-4-7"
PAIR = "gpus-0-1"
PREPARED = (PreparedDevice(("r",), "a100x2", HALF, (f"tangram.dev/claim=u1-{HALF}",)),)


@pytest.fixture(scope="module")
def program() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        yield running


@pytest.fixture
def bench(linked_bench: Any) -> Any:
    """The machine of the program: two GPUs that a table joins."""
    return linked_bench


@pytest.fixture
def dies(program: subprocess.Popen[str], folder: Path) -> Callable[[str, str, int], bool]:
    """Do a deed that is killed at a step; say whether it was, or had come to its end before."""

    def run(deed: str, device: str, step: int) -> bool:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(f"{folder} {deed} {device} {step}\n")
        program.stdin.flush()
        status = int(program.stdout.readline())
        assert status in {0, -signal.SIGKILL}
        return status != 0

    return run


# Three steps for each file, two for each part that is appended and for each removal.
# Prepare writes the record wanted, appends started (and the GI), writes the document, appends completed.
PREPARING = [(HALF, step) for step in range(1, 13)] + [
    (device, step) for device in ("gpu-0", PAIR) for step in range(1, 11)
]
# Unprepare appends that it is undoing and removes document and record.
UNDOING = range(1, 7)


@pytest.mark.parametrize(("device", "step"), PREPARING)
def test_killed_in_prepare_the_next_prepare_gives_the_answer(
    bench: Any, dies: Callable[..., bool], device: str, step: int
) -> None:
    assert dies("prepare", device, step)

    answer = bench.prepare("u1", device)

    assert [prepared.device for prepared in answer] == [device]
    assert bench.document("u1").exists()
    assert len(bench.instances()) == (1 if device == HALF else 0)
    bench.unprepare("u1")
    bench.restart()
    assert bench.leftovers() == []


@pytest.mark.parametrize(("device", "step"), PREPARING)
def test_killed_in_prepare_a_start_leaves_nothing_of_what_was_not_finished(
    bench: Any, dies: Callable[..., bool], device: str, step: int
) -> None:
    assert dies("prepare", device, step)
    is_finished = (device, step) in {(HALF, 12), ("gpu-0", 10), (PAIR, 10)}

    bench.restart()

    assert bool(bench.leftovers()) == is_finished
    assert [prepared.device for prepared in bench.prepare("u1", device)] == [device]
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize("step", UNDOING)
@pytest.mark.parametrize("is_restarted", [True, False])
@pytest.mark.parametrize("device", [HALF, PAIR])
def test_killed_in_unprepare_the_next_unprepare_leaves_nothing(
    bench: Any, dies: Callable[..., bool], step: int, is_restarted: bool, device: str
) -> None:
    bench.prepare("u1", device)
    assert dies("unprepare", device, step)
    if is_restarted:
        bench.restart()

    bench.unprepare("u1")

    bench.restart()
    assert bench.leftovers() == []


@pytest.mark.parametrize("step", UNDOING)
def test_killed_in_unprepare_the_next_prepare_gives_the_answer(
    bench: Any, dies: Callable[..., bool], step: int
) -> None:
    bench.prepare("u1", HALF)
    assert dies("unprepare", HALF, step)

    assert bench.prepare("u1", HALF) == PREPARED

    assert len(bench.instances()) == 1


def test_no_step_was_forgotten(bench: Any, dies: Callable[..., bool]) -> None:
    assert not dies("prepare", HALF, 13)
    assert not dies("unprepare", HALF, 7)
    assert not dies("prepare", "gpu-0", 11)
    bench.unprepare("u1")
    assert not dies("prepare", PAIR, 11)
    assert not dies("unprepare", PAIR, 7)
