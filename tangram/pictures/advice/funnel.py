"""Draws how many devices are left for a request after each thing that it asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from scheduler_core.model.funnel import Funnel, Stage, StageKind
from scheduler_core.model.sentences import values_text
from tangram.pictures.counted import counted
from tangram.program.fitting import Hanging


def funnel_lines(funnel: Funnel) -> Iterator[RenderableType]:
    """Yield a line per stage, up to the first that leaves nothing, and what there is in its place."""
    width = len(str(funnel.stages[0].left))
    for place, stage in enumerate(funnel.stages):
        style = "red" if place == funnel.decisive else ""
        yield Hanging(Text(f"    {stage.left:>{width}} {_asked(stage, funnel)}", style=style), width + 1)
        for values in stage.values:
            yield Hanging(f"{' ' * (5 + width)}{values_text(values)}")
        if not stage.left:
            return


def _asked(stage: Stage, funnel: Funnel) -> str:
    failing = f"; it fails on {counted(stage.fails, 'device')}" if stage.fails else ""
    match stage.kind:
        case StageKind.KNOWN:
            return f"{'device' if stage.left == 1 else 'devices'} of node {funnel.node}"
        case StageKind.CLASS:
            of = f"of class {stage.place}: {stage.asked}" if stage.place else f"of class {stage.asked}"
            return f"{of}{failing}"
        case StageKind.SELECTOR:
            return f"with {stage.asked} ({stage.place}){failing}"
        case StageKind.CAPACITY:
            return f"with at least {stage.asked}"
        case StageKind.KUBELET:
            return f"that the kubelet can serve: {stage.asked}"
        case StageKind.TAINTS:
            return f"without a taint that is not tolerated: {stage.asked}"
        case StageKind.RESERVED:
            return f"outside what other claims have for themselves: {stage.asked}"
        case StageKind.CONSTRAINT:
            return f"possible under {stage.asked} ({stage.place})"
        case StageKind.FREE:
            return "free"


def node_names(names: Sequence[str], most: int = 3) -> str:
    """Return names of nodes in a row, the first few of many."""
    rest = len(names) - most
    return f"{', '.join(names[:most])}{f' and {rest} more' if rest > 0 else ''}"
