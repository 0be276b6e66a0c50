"""Draws what would make claims fit, and the nodes that refuse them for the same reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.advice.refused_nodes import RefusedAlike
from scheduler_core.advice.remedies import Remedy, Reword
from scheduler_core.advice.sentences import remedy_text
from tangram.pictures.advice.funnel import node_names
from tangram.pictures.counted import counted
from tangram.program.fitting import Hanging

_NOTHING: Final = (
    "No single change was found that makes it fit: no claims to end, no other value in a selector, "
    "no smaller number of devices, no constraint to leave out."
)


def remedies_picture(remedies: Sequence[Remedy]) -> RenderableType:
    """List what would make the claims fit; each by itself is enough."""
    if not remedies:
        return Hanging(_NOTHING, 0)
    head = "To make it fit:" if len(remedies) == 1 else "To make it fit, one of these is enough:"
    lines: list[RenderableType] = [Text(head, style="bold")]
    for one in remedies:
        lines.append(Hanging(f"  - {remedy_text(one)}", 2))
        if isinstance(one, Reword):
            lines.append(Hanging(f"      {one.after}"))
    return Group(*lines)


def refused_nodes_picture(groups: Sequence[RefusedAlike]) -> RenderableType:
    """Count the nodes by reason."""
    total = sum(len(one.nodes) for one in groups)
    lines: list[RenderableType] = [Text(f"fits on none of {counted(total, 'node')}:", style="bold red")]
    lines += [
        Hanging(f"  {counted(len(one.nodes), 'node')} ({node_names(one.nodes)}): {one.why}") for one in groups
    ]
    return Group(*lines)
