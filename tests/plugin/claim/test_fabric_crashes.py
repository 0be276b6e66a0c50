"""A process killed at any step leaves a fabric that the next calls put right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from devices_of_kinds import STEPS_OF_DOCUMENT, example_of

from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind
from plugin.kinds.whole_gpus.gpu_partition import GpuPartitionKind
from plugin.kinds.whole_gpus.whole_gpu import WholeGpuKind

Dies = Callable[[str, AnyKind, int], bool]
JOINED = [kind for kind in KINDS.preparable if isinstance(kind, WholeGpuKind | GpuPartitionKind)]
# A file that is replaced has three steps, what is appended or removed two, a call two.
STEPS_OF_UNPREPARE = 2 + 2 + 2 + 2
"""That it is undone, the document, the deactivation, the record."""


def steps_of_prepare(kind: AnyKind) -> int:
    """A claim is coming, its plan, the mode of each GPU, the activation, it is done, the document."""
    return 3 + 2 + 2 * example_of(kind).parts + 2 + 2 + 3


PREPARING = [(kind, step) for kind in JOINED for step in range(1, steps_of_prepare(kind) + 1)]
UNDOING = [(kind, step) for kind in JOINED for step in range(1, STEPS_OF_UNPREPARE + 1)]


@pytest.fixture
def bench(fabric_bench: Any) -> Any:
    return fabric_bench


@pytest.mark.parametrize(("kind", "step"), PREPARING)
def test_killed_in_prepare_a_start_leaves_nothing_of_what_was_not_finished(
    bench: Any, dies: Dies, kind: AnyKind, step: int
) -> None:
    example = example_of(kind)
    example.prepare(bench)
    before = set(bench.leftovers())
    assert dies("prepare", kind, step)
    is_finished = step > steps_of_prepare(kind) - STEPS_OF_DOCUMENT

    bench.restart()

    assert bool(set(bench.leftovers()) - before) == is_finished
    assert [one.device for one in bench.prepare("u1", example.device)] == [example.device]
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), PREPARING)
def test_killed_in_prepare_the_next_prepare_goes_on_without_a_start(
    bench: Any, dies: Dies, kind: AnyKind, step: int
) -> None:
    example = example_of(kind)
    example.prepare(bench)
    assert dies("prepare", kind, step)

    assert [one.device for one in bench.prepare("u1", example.device)] == [example.device]

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
    bench: Any, dies: Dies, kind: AnyKind, step: int, is_restarted: bool
) -> None:
    bench.prepare("u1", example_of(kind).device)
    assert dies("unprepare", kind, step)
    if is_restarted:
        bench.restart()

    bench.unprepare("u1")

    bench.restart()
    assert bench.leftovers() == []


@pytest.mark.parametrize("kind", JOINED)
def test_no_step_was_forgotten(bench: Any, dies: Dies, kind: AnyKind) -> None:
    example_of(kind).prepare(bench)

    assert not dies("prepare", kind, steps_of_prepare(kind) + 1)
    assert not dies("unprepare", kind, STEPS_OF_UNPREPARE + 1)
    assert bench.leftovers() == []
