"""Draws what the controller gives a pod: its devices and why this node, or why no node will do."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from tangram.controlled.answer import PodAnswer, State
from tangram.pictures.advice.pod_funnel import pod_funnels_picture
from tangram.pictures.advice.remedies import pod_remedies_picture, remedies_picture
from tangram.pictures.explanation import demands_picture
from tangram.pictures.weighing import elsewhere_picture
from tangram.program.fitting import Column, FittingTable, Hanging


def answer_picture(answer: PodAnswer) -> RenderableType:
    """Draw an answer."""
    return Group(*_parts(answer))


def _parts(answer: PodAnswer) -> Iterator[RenderableType]:
    where = f" on node {answer.node}" if answer.node else ""
    style = "bold red" if answer.state is State.REFUSED else "bold"
    yield Text(f"pod {answer.pod} {answer.state}{where}", style=style)
    for claim, devices in answer.devices.items():
        yield Hanging(f"  claim {claim}: {', '.join(devices)}")
    if answer.reason:
        yield Hanging(f"  {answer.reason}")
    if answer.chosen_by:
        yield Text("")
        yield Text(f"chosen by {answer.chosen_by}")
        yield elsewhere_picture(answer.others)
    if answer.unusable:
        yield Text("")
        yield _nodes(answer)
    if answer.refusal is not None:
        yield Text("")
        yield demands_picture(answer.refusal.requests, answer.refusal.funnels)
        yield Text("")
        yield remedies_picture(answer.remedies, answer.refusal.cause)
    if answer.amounts is not None:
        yield Text("")
        yield pod_funnels_picture(answer.amounts.funnels)
        yield Text("")
        yield pod_remedies_picture(answer.amounts.remedies)
    if answer.told is not None and answer.told != answer.reason:
        yield Text("")
        yield Hanging(f"its condition still says: {answer.told}")


def _nodes(answer: PodAnswer) -> FittingTable:
    """List the nodes that will not do, a row for each reason."""
    columns = (
        Column("NODES", is_right=True),
        Column("WHY NOT", is_prose=True),
        Column("FOR EXAMPLE", is_prose=True),
    )
    return FittingTable(columns, [(str(one.count), one.why, one.example) for one in answer.unusable])
