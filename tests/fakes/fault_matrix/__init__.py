"""The fault matrix: at which points, for which kinds of devices, which faults were tried, and the outcomes.

A test that has tried one combination notes it by the fixture ``note``; only what a test that passed has noted
is counted (``collecting``). ``PLAN`` says which combinations there have to be, from the table of kinds alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from devices_of_kinds import (
    EXAMPLES,
    STEPS_AFTER_LOOK,
    STEPS_OF_LOOK,
    VF_KINDS,
    WITH_ADMIN_ACCESS,
    example_of,
    setting_up,
    steps_of_prepare,
    steps_of_unprepare,
    taking_down,
    turns_mode_off,
)

from plugin.claim.states import State
from plugin.kinds.mig_partition.kind import MigPartitionKind
from plugin.kinds.netdev_nic import NetdevNicKind
from plugin.kinds.nic_vf.netdev import NetdevVfKind
from plugin.kinds.nic_vf.rdma import RdmaVfKind
from plugin.kinds.nic_vf.vfio import VfioVfKind
from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind
from plugin.kinds.whole_gpus.gpu_partition import GpuPartitionKind
from plugin.kinds.whole_gpus.whole_gpu import WholeGpuKind

LEAST = 400
"""So many combinations must have been tried."""


class Fault(StrEnum):
    """What goes wrong at a point."""

    KILLED = "process killed"
    REFUSED = "call refused"
    LATE = "call fails after its change"
    HANGS = "call hangs"
    LOST = "GPU lost"
    DISK = "disk full"
    API = "claim cannot be read"


class Outcome(StrEnum):
    """What is left of a claim."""

    NOTHING = "nothing left"
    KEPT = "kept"
    PARKED = "parked"


class Row(NamedTuple):
    """One thing that is tried at many points. Shape: ``then`` what the driver is asked for afterwards."""

    deed: str
    fault: Fault
    then: str


@dataclass(frozen=True, slots=True)
class Combination:
    """One combination that was tried. Shape: ``step`` counts from 1; ``point`` is its name."""

    row: Row
    kind: str
    step: int
    point: str
    outcome: Outcome

    def to_list(self) -> list[Any]:
        """Return what a report of a test can carry."""
        return [*map(str, self.row), self.kind, self.step, self.point, str(self.outcome)]

    @classmethod
    def from_list(cls, found: list[Any]) -> Combination:
        """Read what ``to_list`` returned."""
        deed, fault, then, kind, step, point, outcome = found
        return cls(Row(deed, Fault(fault), then), kind, step, point, Outcome(outcome))


def name_of(kind: AnyKind) -> str:
    """Return the name of a kind in the matrix: its class without ``Kind``."""
    return type(kind).__name__.removesuffix("Kind")


PREPARED = Row("prepare", Fault.KILLED, "prepare")
STARTED = Row("prepare", Fault.KILLED, "start")
UNPREPARED = Row("unprepare", Fault.KILLED, "unprepare")
UNPREPARED_LATER = Row("unprepare", Fault.KILLED, "start, unprepare")
PREPARED_AGAIN = Row("unprepare", Fault.KILLED, "prepare")
LOOKED = Row("look", Fault.KILLED, "start, look")
LOOKED_AWAY = Row("look away", Fault.KILLED, "start, unprepare")
REWRITTEN = Row("write a document again", Fault.KILLED, "look")
REWRITTEN_LATER = Row("write a document again", Fault.KILLED, "start, look")
ENDED = Row("end a claim that is over", Fault.KILLED, "look")
ENDED_LATER = Row("end a claim that is over", Fault.KILLED, "start")
REFUSED = Row("prepare", Fault.REFUSED, "-")
LATE = Row("prepare", Fault.LATE, "-")
HANGS = Row("prepare", Fault.HANGS, "the call returns")
LOST = Row("prepare", Fault.LOST, "-")
FULL = Row("prepare", Fault.DISK, "-")
UNREAD = Row("prepare", Fault.API, "-")
UNREAD_AGAIN = Row("prepare again", Fault.API, "-")
UNDO_REFUSED = Row("unprepare", Fault.REFUSED, "unprepare")
UNDO_LATE = Row("unprepare", Fault.LATE, "unprepare")
UNDO_HANGS = Row("unprepare", Fault.HANGS, "the call returns")
UNDO_LOST = Row("unprepare", Fault.LOST, "-")
UNDO_FULL = Row("unprepare", Fault.DISK, "unprepare")

BROUGHT_IN = Row("bring in", Fault.KILLED, "start, bring in")
BROUGHT_NOWHERE = Row("bring in", Fault.KILLED, "start, unprepare")
BROUGHT_BACK = Row("bring back", Fault.KILLED, "start, unprepare")
VFS_MADE = Row("prepare, making VFs", Fault.KILLED, "start")
VFS_REMOVED = Row("unprepare, removing VFs", Fault.KILLED, "start, unprepare")
GUIDS_SET = Row("prepare, setting GUIDs", Fault.KILLED, "start")
GUIDS_SET_AGAIN = Row("prepare, setting GUIDs", Fault.KILLED, "prepare")
GUIDS_RESTORED = Row("unprepare, restoring GUIDs", Fault.KILLED, "start, unprepare")
GUIDS_RESTORED_AGAIN = Row("unprepare, restoring GUIDs", Fault.KILLED, "unprepare")
JOINED = Row("prepare on a fabric", Fault.KILLED, "start")
JOINED_AGAIN = Row("prepare on a fabric", Fault.KILLED, "prepare")
PARTED = Row("unprepare on a fabric", Fault.KILLED, "unprepare")
PARTED_LATER = Row("unprepare on a fabric", Fault.KILLED, "start, unprepare")

STEPS_OF_REWRITING = 3
"""A document is half written, written, in place."""
OF_GPUS = tuple(kind for kind in KINDS.preparable if EXAMPLES[type(kind)].node == "a100x2")


def changes(kind: AnyKind) -> int:
    """How often setting a device up changes the machine."""
    return len(setting_up(kind))


def undone(kind: AnyKind) -> int:
    """How often taking it down changes the machine."""
    return len(taking_down(kind))


def writes_of_prepare(kind: AnyKind) -> int:
    """How many files prepare writes: a claim is coming, its plan, what is noted, it is done, the document.

    Where it turns the MIG mode on, also that this driver did.
    """
    return 4 + len(kind.crash_points.noted) * example_of(kind).parts + turns_mode_off(kind)


def _with_admin_access(steps: int) -> Callable[[AnyKind], int]:
    return lambda kind: steps if kind in WITH_ADMIN_ACCESS else 0


def _of_gpus(count: Callable[[AnyKind], int]) -> Callable[[AnyKind], int]:
    """A GPU is lost before and after each change."""
    return lambda kind: 2 * count(kind) if kind in OF_GPUS else 0


# A record that is appended has two steps, and so has a call and each of its requests to the kernel:
# move, MTU, two addresses, on, route; back: move, MTU, on. A VF's PF also restores trust.
STEPS_IN = 2 + 2 + 2 * 6
STEPS_OUT = {NetdevVfKind: 2 + 2 + 2 + 2 * 3 + 2 + 2 + 2, NetdevNicKind: 2 + 2 + 2 + 2 * 3 + 2}
# The intent in a file, the call and the kernel's write in it, the number that came of it in the file.
STEPS_OF_MAKING = 3 + 2 + 2 + 3
# The call and the kernel's write in it, the file.
STEPS_OF_REMOVING = 2 + 2 + 2
# The record of what was there before; the call that sets the link's state and both GUIDs, three requests.
STEPS_OF_GUIDS = 2 + 2 + 2 * 3
# The driver stops, gets the override, starts and loses the override.
STEPS_OF_RESTART = 2 + 2 * 4
STEPS_WITH_GUIDS: Mapping[type[AnyKind], tuple[int, int]] = {
    # The call that restores the driver finds it there. For VFIO there is one that gives the VF away instead.
    RdmaVfKind: (STEPS_OF_RESTART + 2, STEPS_OF_RESTART),
    VfioVfKind: (2 + 2 * 3, STEPS_OF_RESTART),
    # Also the record of the interface, and the settings that are set already.
    NetdevVfKind: (STEPS_OF_RESTART + 2 + 2 + 2, STEPS_OF_RESTART),
}
"""How many steps an InfiniBand VF has beside those of the GUIDs, in prepare and in unprepare."""


def steps_of_setting_guids(kind: AnyKind) -> int:
    """A claim is coming, its plan, the GUIDs, the driver, it is done, the document."""
    own = STEPS_WITH_GUIDS.get(type(kind))
    return 3 + 2 + STEPS_OF_GUIDS + own[0] + 2 + 3 if own else 0


def steps_of_restoring_guids(kind: AnyKind) -> int:
    """That it is undone, the document, the settings, the driver, the record."""
    own = STEPS_WITH_GUIDS.get(type(kind))
    return 2 + 2 + STEPS_OF_GUIDS - 2 + own[1] + 2 if own else 0


JOINING = tuple(kind for kind in KINDS.preparable if isinstance(kind, WholeGpuKind | GpuPartitionKind))
"""The kinds whose devices a fabric manager joins."""


def steps_of_joining(kind: AnyKind) -> int:
    """A claim is coming, its plan, the mode of each GPU, the activation, it is done, the document."""
    return 3 + 2 + 2 * example_of(kind).parts + 2 + 2 + 3 if kind in JOINING else 0


def steps_of_parting(kind: AnyKind) -> int:
    """That it is undone, the document, the deactivation, the record."""
    return 2 + 2 + 2 + 2 if kind in JOINING else 0


STEPS: Mapping[Row, Callable[[AnyKind], int]] = {
    PREPARED: steps_of_prepare,
    STARTED: steps_of_prepare,
    UNPREPARED: steps_of_unprepare,
    UNPREPARED_LATER: steps_of_unprepare,
    PREPARED_AGAIN: steps_of_unprepare,
    LOOKED: _with_admin_access(STEPS_OF_LOOK),
    LOOKED_AWAY: _with_admin_access(STEPS_AFTER_LOOK),
    BROUGHT_IN: lambda kind: STEPS_IN if type(kind) in STEPS_OUT else 0,
    BROUGHT_NOWHERE: lambda kind: STEPS_IN if type(kind) in STEPS_OUT else 0,
    BROUGHT_BACK: lambda kind: STEPS_OUT.get(type(kind), 0),
    VFS_MADE: lambda kind: steps_of_prepare(kind) + STEPS_OF_MAKING if kind in VF_KINDS else 0,
    VFS_REMOVED: lambda kind: steps_of_unprepare(kind) + STEPS_OF_REMOVING if kind in VF_KINDS else 0,
    GUIDS_SET: steps_of_setting_guids,
    GUIDS_SET_AGAIN: steps_of_setting_guids,
    GUIDS_RESTORED: steps_of_restoring_guids,
    GUIDS_RESTORED_AGAIN: steps_of_restoring_guids,
    JOINED: steps_of_joining,
    JOINED_AGAIN: steps_of_joining,
    PARTED: steps_of_parting,
    PARTED_LATER: steps_of_parting,
    REWRITTEN: lambda _: STEPS_OF_REWRITING,
    REWRITTEN_LATER: lambda _: STEPS_OF_REWRITING,
    ENDED: steps_of_unprepare,
    ENDED_LATER: lambda kind: steps_of_unprepare(kind) if isinstance(kind, MigPartitionKind) else 0,
    REFUSED: changes,
    LATE: changes,
    HANGS: changes,
    LOST: _of_gpus(changes),
    FULL: writes_of_prepare,
    UNREAD: lambda _: 2,  # before and after the record of a coming claim
    UNREAD_AGAIN: lambda _: 2,
    UNDO_REFUSED: undone,
    UNDO_LATE: undone,
    UNDO_HANGS: undone,
    UNDO_LOST: _of_gpus(undone),
    UNDO_FULL: lambda kind: 3 + turns_mode_off(kind),  # it is undone, the document, whose mode, the record
}
"""How many points each kind has of a row."""


def points(row: Row) -> list[tuple[AnyKind, int]]:
    """Return the kinds and steps at which a row is to be tried."""
    return [(kind, step) for kind in KINDS.preparable for step in range(1, STEPS[row](kind) + 1)]


PLAN = frozenset((row, name_of(kind), step) for row in STEPS for kind, step in points(row))


def missing(found: Iterable[Combination]) -> list[str]:
    """Return what of the plan is not among the combinations, as sentences."""
    tried = {(one.row, one.kind, one.step) for one in found}
    return [
        f"{kind}, {row.deed}, {row.fault}, then {row.then}: step {step} was not tried"
        for row, kind, step in sorted(PLAN - tried)
    ]


def recorded_of(bench: Any, uid: str = "u1") -> Outcome | None:
    """Return what the record of a claim says, None where there is none."""
    for record in bench.records():
        if record.claim_uid == uid:
            return Outcome.KEPT if record.state is State.COMPLETED else Outcome.PARKED
    return None


def outcome_of(bench: Any, uid: str = "u1", before: Iterable[str] = ()) -> Outcome:
    """Return what is left of a claim. Shape: ``before`` what was there before its first call.

    Raises: AssertionError where something is left, and no record says so.
    """
    recorded = recorded_of(bench, uid)
    if recorded is None:
        assert set(bench.leftovers()) - set(before) == set()
    return recorded or Outcome.NOTHING


def counted(outcomes: Iterable[Outcome]) -> str:
    """Return outcomes as text: ``nothing left 12, kept 3``."""
    found = Counter(outcomes)
    return ", ".join(f"{outcome} {found[outcome]}" for outcome in Outcome if found[outcome])
