"""Draws what the controller gives a pod: its devices and why this node, or why no node will do."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tangram.controlled.answer import PodAnswer, State
from tangram.pictures.weighing import elsewhere_picture


def answer_picture(answer: PodAnswer) -> RenderableType:
    """Draw an answer."""
    return Group(*_parts(answer))


def _parts(answer: PodAnswer) -> Iterator[RenderableType]:
    where = f" on node {answer.node}" if answer.node else ""
    style = "bold red" if answer.state is State.REFUSED else "bold"
    yield Text(f"pod {answer.pod} {answer.state}{where}", style=style)
    for claim, devices in answer.devices.items():
        yield Text(f"  claim {claim}: {', '.join(devices)}")
    if answer.reason:
        yield Text(f"  {answer.reason}")
    if answer.chosen_by:
        yield Text("")
        yield Text(f"chosen by {answer.chosen_by}")
        yield elsewhere_picture(answer.others)
    if answer.unusable:
        yield Text("")
        yield _nodes(answer)
    if answer.told is not None and answer.told != answer.reason:
        yield Text("")
        yield Text(f"its condition still says: {answer.told}")


def _nodes(answer: PodAnswer) -> Table:
    """List the nodes that will not do, a row for each reason."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("NODES", justify="right")
    table.add_column("WHY NOT", overflow="fold")
    table.add_column("FOR EXAMPLE", overflow="fold")
    for one in answer.unusable:
        table.add_row(str(one.count), one.why, one.example)
    return table
