"""Claims that do not fit, explained: the funnel of each request, who holds what, and what would help."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from scheduler_core.advice.advise import advise
from scheduler_core.advice.refused_nodes import RefusedAlike, closest_first, refused_nodes
from scheduler_core.advice.remedies import Remedy
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.result import Cause, Reason, Unallocatable
from tangram.explaining.asked import Asked
from tangram.explaining.remedies import refused_value, remedies_value
from tangram.face import DOES_NOT_FIT
from tangram.pictures.advice.remedies import refused_nodes_picture, remedies_picture
from tangram.pictures.explanation import conflict_picture, demands_picture, holders_picture, spreads_picture
from tangram.program.fitting import Hanging
from tangram.refusals import refusal_in_full
from tangram.told import Told


@dataclass(frozen=True, slots=True)
class ExplainedRefusal:
    """A refusal and what a user can do. Shape: ``refusal`` is of the node that comes closest."""

    refusal: Unallocatable
    groups: tuple[RefusedAlike, ...]
    remedies: tuple[Remedy, ...]


def refusal_told(refusal: Unallocatable, asked: Asked, engine: Engine, width: int) -> Told:
    """Return why the claims fit on none of the nodes, and what would make them fit.

    Shape: ``width`` of the terminal in columns.
    """
    claims, nodes = asked.claims, asked.nodes
    groups = refused_nodes(claims, engine, nodes) if len(nodes) > 1 else ()
    closest = next((one.refusal for one in groups if one.refusal is not None), refusal)
    remedies = advise(claims, engine, closest_first(nodes, groups), asked.elsewhere)
    explained = ExplainedRefusal(closest, groups, remedies)
    return Told(DOES_NOT_FIT, _value(explained), tuple(_pictures(explained, asked, width)))


def _value(explained: ExplainedRefusal) -> dict[str, object]:
    return {
        **refusal_in_full(explained.refusal),
        "nodes": refused_value(explained.groups),
        "remedies": remedies_value(explained.remedies),
    }


def _pictures(explained: ExplainedRefusal, asked: Asked, width: int) -> Iterator[RenderableType]:
    refusal, cluster = explained.refusal, asked.cluster
    if explained.groups:
        yield refused_nodes_picture(explained.groups)
        yield Text("")
    yield Text(f"does not fit on {refusal.node}", style="bold red")
    yield from (
        Hanging(f"  {reason.claim} request {reason.request}: {_short(reason)}") for reason in refusal.reasons
    )
    yield Text("")
    yield demands_picture(refusal.requests, refusal.funnels)
    if refusal.cause is Cause.CONSTRAINT_UNSATISFIED:
        yield Text("")
        yield spreads_picture(refusal.constraints)
    total = sum(len(claim.requests) for claim in asked.claims)
    conflict = conflict_picture(refusal.conflict, total) if total > 1 else None
    held = holders_picture(refusal.requests, cluster.pools, cluster.allocated, width)
    if conflict is not None or held is not None:
        yield Text("")
        yield from (part for part in (conflict, held) if part is not None)
    yield Text("")
    yield remedies_picture(explained.remedies, refusal.cause)


def _short(reason: Reason) -> str:
    """Return a reason without what is told below it: the funnel, and what stands in the way of devices."""
    if reason.cause is Cause.NO_MATCHING_DEVICE:
        return "no device matches its class and selectors"
    return reason.detail.partition(";")[0] if reason.cause is Cause.INSUFFICIENT else reason.detail
