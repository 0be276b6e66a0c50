"""PURE: the XIDs that are known: what NVIDIA's catalog says is to be done at once, and the cause of each.

The catalog is data: numbers by their *resolution bucket (immediate action)*. A number whose action decides
nothing, or is judged otherwise here, has a reason. ``docs/health.md`` is drawn from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from agent.health.causes import Cause

SOURCE: Final = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"
READ: Final = "2026-11-24"
"""When a copy of the catalog was last compared with this table, number by number."""
LAST: Final = 172
"""The highest number of that copy. Lower numbers that stand nowhere here are unused in it."""


@dataclass(frozen=True, slots=True)
class Action:
    """What the catalog says is to be done at once.

    Shape: ``cause`` what its numbers are, unless ``OTHERWISE`` names them; None where it decides nothing.
    """

    cause: Cause | None
    xids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Numbers that the action alone does not judge. Shape: ``why`` is a clause."""

    cause: Cause
    xids: tuple[int, ...]
    why: str


_IGNORED: Final = (
    *(14, 37, 38, 43, 44, 63, 66, 67, 92, 93, 106, 107, 108),
    *(121, 137, 141, 152, 153, 157, 160, 161),
)
_OF_ENGINES: Final = (
    *(39, 40, 41, 60, 68, 70, 71, 72, 75, 76, 77, 82, 83, 84, 85, 86, 88, 89),
    *range(96, 106),
    *range(126, 136),
    139,
)
_RESETS: Final = (46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158)

CATALOG: Final[Mapping[str, Action]] = MappingProxyType(
    {
        "IGNORE": Action(Cause.XID_NOTE, _IGNORED),
        "RESTART_APP": Action(Cause.XID_APPLICATION, (8, 11, 13, 25, 31, 32, 69, 80, 94, *_OF_ENGINES)),
        "RESET_GPU": Action(Cause.XID_RESET, _RESETS),
        "RESTART_BM": Action(Cause.GPU_LOST, (79,)),
        "RESTART_VM": Action(Cause.XID_RESET, (151,)),
        "WORKFLOW_XID_48": Action(Cause.XID_RESET, (48,)),
        "WORKFLOW_NVLINK_ERR": Action(Cause.XID_RESET, (74,)),
        "WORKFLOW_NVLINK5_ERR": Action(None, (144, 145, 146, 147, 148, 149, 150)),
        "WORKFLOW_XID_45": Action(None, (45,)),
        "XID_154": Action(None, (154,)),
        "CHECK_MECHANICALS": Action(None, (54,)),
        "CHECK_UVM": Action(None, (159,)),
        "UPDATE_SWFW": Action(None, (78,)),
        "CONTACT_SUPPORT": Action(None, (142,)),
        "none given": Action(None, tuple(range(162, 173))),
    }
)
"""The numbers in use of the catalog, by action."""

OTHERWISE: Final = (
    Otherwise(Cause.XID_APPLICATION, (43,), "a program ended by a fault of its own, and the GPU is well"),
    Otherwise(Cause.XID_APPLICATION, (137,), "a program used memory behind NVLink that it may not use"),
    Otherwise(Cause.XID_APPLICATION, (45,), "a program was ended; what it was ended for is told by itself"),
    Otherwise(Cause.XID_NOTE, (154,), "which recovery the GPU needs is read, and is a cause of its own"),
    Otherwise(Cause.XID_NOTE, (78,), "it concerns guests with a vGPU, which no claim gets"),
    Otherwise(Cause.XID_NOTE, (147, 148), "all their kinds are to be ignored"),
    Otherwise(Cause.XID_RESET, (150,), "both of its kinds need a reset"),
    Otherwise(
        Cause.XID_UNKNOWN,
        (144, 145, 146, 149),
        "some of their kinds need a reset and others none, and the event does not tell the kind; the driver "
        "asks for a recovery where one is needed",
    ),
    Otherwise(
        Cause.XID_RESET, (54,), "the board lacks its power cable; it is off while somebody plugs it in"
    ),
    Otherwise(Cause.XID_RESET, (159,), "a reset, if unified memory is in use, as in every CUDA program"),
    Otherwise(Cause.XID_UNKNOWN, (142,), "support is to be asked"),
    Otherwise(Cause.XID_NOTE, (162, 163, 164, 165), "power smoothing alone is on, off or worn out"),
    Otherwise(Cause.XID_RESET, (168,), "a part of the memory is lost until the next start of the GPU"),
    Otherwise(Cause.XID_RESET, (171, 172), "they tell more of the error of an XID 48"),
    Otherwise(Cause.XID_UNKNOWN, (166, 167, 169, 170), "the catalog says nothing of them yet"),
)
"""What the action alone does not judge, or judges otherwise than here."""

XIDS: Final[Mapping[int, Cause]] = MappingProxyType(
    {xid: action.cause for action in CATALOG.values() if action.cause is not None for xid in action.xids}
    | {xid: one.cause for one in OTHERWISE for xid in one.xids}
)
"""The cause that each known XID is. A policy changes how bad each of them is."""


def cause_of_xid(xid: int | None) -> Cause:
    """Return the cause that an XID is, whatever number the driver gave."""
    return Cause.XID_UNKNOWN if xid is None else XIDS.get(xid, Cause.XID_UNKNOWN)
