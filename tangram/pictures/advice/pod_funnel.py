"""Draws how many GPUs and cards are left for a pod after each thing that it asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.frontends.pod_reasons.funnel import PodFunnel, PodStage, PodStageKind
from scheduler_core.frontends.pod_reasons.refused import PodsNodes
from scheduler_core.model.sentences import values_text
from tangram.pictures.advice.funnel import node_names
from tangram.pictures.counted import counted
from tangram.program.fitting import Hanging

_REASONS: Final = 4  # reasons of one stage that are told
_NUMBERS: Final = 8  # devices that a line names before it says "and N more"


def pod_funnels_picture(funnels: Sequence[PodFunnel]) -> RenderableType:
    """Draw a funnel per type of device."""
    lines: list[RenderableType] = []
    for one in funnels:
        needed = "all that match" if one.needed is None else one.needed
        free = next((stage.left for stage in reversed(one.stages) if stage.kind is PodStageKind.FREE), 0)
        told = f"{one.type}: needs {needed}, {free or 'none'} {'are' if free > 1 else 'is'} free"
        lines.append(Text(told, style="bold"))
        lines += _lines(one)
    return Group(*lines)


def pods_nodes_picture(groups: Sequence[PodsNodes]) -> RenderableType:
    """Count the nodes by reason."""
    told = (f"{counted(len(one.nodes), 'node')} ({node_names(one.nodes)}): {one.why}" for one in groups)
    return Group(*(Hanging(f"  {one}") for one in told))


def _lines(funnel: PodFunnel) -> Iterator[RenderableType]:
    """Yield a line per stage, up to the first that leaves nothing, and what there is in its place."""
    width = len(str(funnel.stages[0].left))
    for place, stage in enumerate(funnel.stages):
        style = "red" if place == funnel.decisive else ""
        yield Hanging(Text(f"    {stage.left:>{width}} {_asked(stage, funnel)}", style=style), width + 1)
        inner = " " * (5 + width)
        yield from (Hanging(f"{inner}{values_text(values)}") for values in stage.values)
        reasons = list(stage.lost.items())
        yield from (
            Hanging(f"{inner}not {_numbers(funnel, lost)}: {why}") for why, lost in reasons[:_REASONS]
        )
        rest = sum(len(lost) for _, lost in reasons[_REASONS:])
        if rest:
            yield Hanging(f"{inner}and not {rest} more, for other reasons")
        if not stage.left:
            return


def _numbers(funnel: PodFunnel, lost: Sequence[int]) -> str:
    rest = f" and {len(lost) - _NUMBERS} more" if len(lost) > _NUMBERS else ""
    return f"{funnel.type} {', '.join(map(str, lost[:_NUMBERS]))}{rest}"


def _asked(stage: PodStage, funnel: PodFunnel) -> str:
    match stage.kind:
        case PodStageKind.KNOWN:
            return f"{funnel.type} {'device' if stage.left == 1 else 'devices'} of node {funnel.node}"
        case PodStageKind.SELECTOR:
            return f"with {stage.asked} (selector of the hint)"
        case PodStageKind.HEALTH:
            return "that pods may use"
        case PodStageKind.AMOUNT:
            return f"that have {stage.asked} to give" if stage.asked else "that can be given as a whole"
        case PodStageKind.FREE:
            return "free"
        case PodStageKind.TOGETHER:
            return f"together: {stage.asked}"
