"""Draws what would make claims fit, and the nodes that refuse them for the same reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.advice.refused_nodes import RefusedAlike
from scheduler_core.advice.remedies import PodTogether, Remedy, Reword, Together
from scheduler_core.advice.sentences import remedy_text
from scheduler_core.model.result import Cause
from tangram.pictures.advice.funnel import node_names
from tangram.pictures.counted import counted
from tangram.program.fitting import Hanging

_NOTHING: Final = (
    "No change was found that makes it fit, and no two changes together: no claims to end, no other value "
    "in a selector, no smaller number of devices, no constraint to leave out. Ask for another class, or add "
    "a node that has such devices."
)
_NOTHING_FOR_PODS: Final = (
    "No change was found that makes it fit, and no two changes together: no claims to end, no other value in "
    "the selector of a hint, no smaller amount, nothing to leave out of the annotations. Add a node that has "
    "such devices."
)
_NOTHING_FOR_MARKED: Final = (
    "No change was found that makes it fit: no claims to end, and no single annotation to leave out. Add a "
    "node whose devices are close enough to each other."
)
_NONE_HELPS: Final = "No change of the claims helps:"
_FOR_OTHERS: Final = {
    Cause.POOL_INCOMPLETE: f"{_NONE_HELPS} give all slices of the pool, or wait until the driver of the node "
    "has published them.",
    Cause.POOL_INVALID: f"{_NONE_HELPS} the driver of the node has to publish a pool that is valid.",
    Cause.DEVICE_INVALID: f"{_NONE_HELPS} the driver of the node has to publish devices that are valid.",
}
_BOTH: Final = "No single change was found to be enough. To make it fit, do both"


def remedies_picture(remedies: Sequence[Remedy], cause: Cause | None = None) -> RenderableType:
    """List what would make the claims fit; each is enough. Without any, say who can do something."""
    if not remedies:
        return Hanging(_FOR_OTHERS.get(cause, _NOTHING) if cause is not None else _NOTHING, 0)
    if isinstance(remedies[0], Together | PodTogether):
        head = _BOTH if len(remedies) == 1 else f"{_BOTH} parts of one of these"
    else:
        head = "To make it fit" if len(remedies) == 1 else "To make it fit, one of these is enough"
    lines: list[RenderableType] = [Hanging(Text(f"{head}:", style="bold"))]
    for one in remedies:
        lines.append(Hanging(f"  - {remedy_text(one)}", 2))
        steps = one.steps if isinstance(one, Together | PodTogether) else (one,)
        lines += [Hanging(f"      {step.after}") for step in steps if isinstance(step, Reword)]
    return Group(*lines)


def pod_remedies_picture(remedies: Sequence[Remedy]) -> RenderableType:
    """List what would make a pod fit that asks by amounts; each is enough."""
    return remedies_picture(remedies) if remedies else Hanging(_NOTHING_FOR_PODS, 0)


def marked_remedies_picture(remedies: Sequence[Remedy]) -> RenderableType:
    """List what would make annotated claims fit that fit without their annotations; each is enough."""
    return remedies_picture(remedies) if remedies else Hanging(_NOTHING_FOR_MARKED, 0)


def refused_nodes_picture(groups: Sequence[RefusedAlike]) -> RenderableType:
    """Count the nodes by reason."""
    total = sum(len(one.nodes) for one in groups)
    lines: list[RenderableType] = [Text(f"fits on none of {counted(total, 'node')}:", style="bold red")]
    lines += [
        Hanging(f"  {counted(len(one.nodes), 'node')} ({node_names(one.nodes)}): {one.why}") for one in groups
    ]
    return Group(*lines)
