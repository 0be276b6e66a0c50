"""A process killed at any step of giving an InfiniBand VF its GUIDs leaves what the next one puts right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fault_matrix
import pytest
from devices_of_kinds import STEPS_OF_DOCUMENT
from fault_matrix import outcome_of, points, steps_of_restoring_guids, steps_of_setting_guids
from fault_matrix.collecting import Note
from infiniband_vfs import EXAMPLES, NONE, SIBLING, VF, VF_BDF, guids_of

from agent.hardware.nics.types import LinkState
from plugin.kinds.kind import PreparableKind
from plugin.kinds.nic_vf.vfio import VfioVfKind
from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind

Dies = Callable[[str, AnyKind, int], str]
PREPARING, UNDOING = points(fault_matrix.GUIDS_SET), points(fault_matrix.GUIDS_RESTORED)
KINDS_OF_VFS = [kind for kind in KINDS.preparable if type(kind) in EXAMPLES]


def named(value: object) -> str | None:
    return type(value).__name__ if isinstance(value, PreparableKind) else None


@pytest.fixture
def bench(infiniband_bench: Any) -> Any:
    infiniband_bench.with_rules(None)
    return infiniband_bench


def prepare(bench: Any, kind: AnyKind) -> list[str]:
    claim = bench.claim("u1", VF, configs=EXAMPLES[type(kind)].configs)
    return [one.device for one in bench.driver.prepare(claim)]


def assert_works(bench: Any, kind: AnyKind) -> None:
    """The VF has its GUIDs, and so has what containers get of it."""
    reader = bench.machine.nics.reader
    setting = bench.machine.nics.settings.read(*reader.parent(VF_BDF))
    guid = setting.node_guid
    assert guid == setting.port_guid != NONE[0]
    assert setting.link_state is LinkState.AUTO
    if type(kind) is not VfioVfKind:
        assert guids_of(reader, VF_BDF) == (guid, guid)


def assert_undone(bench: Any) -> None:
    assert bench.leftovers() == []
    assert guids_of(bench.machine.nics.reader, VF_BDF) == NONE
    assert {VF, SIBLING} <= set(bench.names())


@pytest.mark.parametrize(("kind", "step"), PREPARING, ids=named)
def test_killed_in_prepare_a_start_leaves_nothing_of_what_was_not_finished(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    point = dies("prepare", kind, step)
    assert point
    is_finished = step > steps_of_setting_guids(kind) - STEPS_OF_DOCUMENT

    bench.restart()

    assert bool(bench.leftovers()) == is_finished
    note(fault_matrix.GUIDS_SET, kind, step, point, outcome_of(bench))
    if not is_finished:
        assert_undone(bench)
    assert prepare(bench, kind) == [VF]
    assert_works(bench, kind)
    bench.unprepare("u1")
    assert_undone(bench)


@pytest.mark.parametrize(("kind", "step"), PREPARING, ids=named)
def test_killed_in_prepare_the_next_prepare_goes_on_without_a_start(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    point = dies("prepare", kind, step)
    assert point

    assert prepare(bench, kind) == [VF]
    assert_works(bench, kind)
    note(fault_matrix.GUIDS_SET_AGAIN, kind, step, point, outcome_of(bench))

    bench.unprepare("u1")
    assert_undone(bench)


@pytest.mark.parametrize(("kind", "step"), UNDOING, ids=named)
@pytest.mark.parametrize("is_restarted", [True, False])
def test_killed_in_unprepare_the_next_unprepare_leaves_nothing(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int, is_restarted: bool
) -> None:
    prepare(bench, kind)
    point = dies("unprepare", kind, step)
    assert point

    if is_restarted:
        bench.restart()
    bench.unprepare("u1")

    assert_undone(bench)
    row = fault_matrix.GUIDS_RESTORED if is_restarted else fault_matrix.GUIDS_RESTORED_AGAIN
    note(row, kind, step, point, outcome_of(bench))


@pytest.mark.parametrize("kind", KINDS_OF_VFS, ids=named)
def test_no_step_was_forgotten(bench: Any, dies: Dies, kind: AnyKind) -> None:
    assert not dies("prepare", kind, steps_of_setting_guids(kind) + 1)
    assert not dies("unprepare", kind, steps_of_restoring_guids(kind) + 1)
    assert_undone(bench)
