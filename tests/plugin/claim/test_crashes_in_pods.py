"""A process killed while it brings an interface into a pod, or back, leaves what the next call finishes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fault_matrix
import pytest
from devices_of_kinds import NETDEV, example_of
from fault_matrix import STEPS_IN, STEPS_OUT, outcome_of, points
from fault_matrix.collecting import Note

from agent.hardware.nics.links import Link
from agent.hardware.types import Bdf
from plugin.kinds.netdev_nic import NetdevNicKind
from plugin.kinds.nic_vf.netdev import NetdevVfKind
from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind

FUNCTIONS = {NetdevVfKind: Bdf("0000:19:00.2"), NetdevNicKind: Bdf("0000:19:00.0")}
IN_PODS = [kind for kind in KINDS.preparable if type(kind) in FUNCTIONS]
BRINGING, LEAVING = points(fault_matrix.BROUGHT_IN), points(fault_matrix.BROUGHT_BACK)
Dies = Callable[[str, AnyKind, int], str]


def named(value: object) -> str | None:
    return None if isinstance(value, int) else type(value).__name__


@pytest.fixture
def folder(used_folder: Path) -> Path:
    return used_folder


@pytest.fixture
def bench(bench_of_kind: Any, kind: AnyKind) -> Any:
    """The machine with the example of the kind prepared for a pod that is there."""
    example = example_of(kind)
    bench_of_kind.driver.prepare(bench_of_kind.claim("u1", example.device, configs=example.configs))
    assert bench_of_kind.pod.exists()
    return bench_of_kind


def link(bench: Any, kind: AnyKind, namespace: Path | None) -> Link | None:
    found: Link | None = bench.machine.nics.interfaces.find(FUNCTIONS[type(kind)], namespace)
    return found


@pytest.mark.parametrize(("kind", "step"), BRINGING, ids=named)
def test_killed_while_it_brings_in_the_next_call_gives_the_pod_the_whole_interface(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    point = dies("bring-in", kind, step)
    assert point

    bench.restart()
    bench.bring_in("u1", example_of(kind).device)
    found = link(bench, kind, bench.pod)

    assert found is not None
    assert (found.name, found.mtu, found.is_up) == ("fast0", 1400, True)
    assert list(found.addresses) == NETDEV["addresses"]
    assert len(found.routes) == 1
    note(fault_matrix.BROUGHT_IN, kind, step, point, outcome_of(bench))
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), BRINGING, ids=named)
@pytest.mark.parametrize("is_ended", [False, True])
def test_killed_while_it_brings_in_the_end_of_the_claim_gives_it_back_as_it_was(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int, is_ended: bool
) -> None:
    point = dies("bring-in", kind, step)
    assert point
    if is_ended:
        bench.pod.unlink()

    bench.restart()
    bench.unprepare("u1")

    assert bench.leftovers() == []
    if not is_ended:
        note(fault_matrix.BROUGHT_NOWHERE, kind, step, point, outcome_of(bench))


@pytest.mark.parametrize(("kind", "step"), LEAVING, ids=named)
def test_killed_while_it_brings_back_the_next_unprepare_leaves_nothing(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    bench.bring_in("u1", example_of(kind).device)
    point = dies("unprepare", kind, step)
    assert point

    bench.restart()
    bench.unprepare("u1")

    assert bench.leftovers() == []
    note(fault_matrix.BROUGHT_BACK, kind, step, point, outcome_of(bench))


@pytest.mark.parametrize("kind", IN_PODS, ids=named)
def test_no_step_was_forgotten(bench: Any, dies: Dies, kind: AnyKind) -> None:
    assert not dies("bring-in", kind, STEPS_IN + 1)
    assert not dies("unprepare", kind, STEPS_OUT[type(kind)] + 1)
    assert bench.leftovers() == []
