"""Claims that do not fit, explained: the funnel of each request, who holds what, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from scheduler_core.advice.advise import advise
from scheduler_core.advice.refused_nodes import RefusedAlike, refused_nodes
from scheduler_core.advice.remedies import Remedy
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Cause, Reason, Unallocatable
from tangram.allocation_input import AllocationInput
from tangram.explaining.remedies import refused_value, remedies_value
from tangram.face import Face
from tangram.pictures.advice.remedies import refused_nodes_picture, remedies_picture
from tangram.pictures.explanation import conflict_picture, demands_picture, holders_picture, spreads_picture
from tangram.program.fitting import Hanging
from tangram.refusals import refusal_in_full


@dataclass(frozen=True, slots=True)
class ExplainedRefusal:
    """A refusal and what a user can do. Shape: ``refusal`` is of the node that comes closest."""

    refusal: Unallocatable
    groups: tuple[RefusedAlike, ...]
    remedies: tuple[Remedy, ...]


def explain_refusal(
    refusal: Unallocatable, asked: AllocationInput, engine: Engine, face: Face, *, as_json: bool
) -> None:
    """Print why the claims fit on none of the nodes, and what would make them fit."""
    claims, nodes = asked.objects.claims, asked.nodes
    groups = refused_nodes(claims, engine, nodes) if len(nodes) > 1 else ()
    closest = next((one.refusal for one in groups if one.refusal is not None), refusal)
    remedies = advise(claims, engine, _closest_first(nodes, closest.node), _elsewhere(asked))
    explained = ExplainedRefusal(closest, groups, remedies)
    if as_json:
        face.out.json(_value(explained))
    else:
        face.out.show(*_pictures(explained, asked, face.out.width))


def _closest_first(nodes: Sequence[Node], closest: str) -> list[Node]:
    return sorted(nodes, key=lambda node: node.name != closest)


def _elsewhere(asked: AllocationInput) -> list[Node]:
    """Return the nodes that were not asked about."""
    names = {node.name for node in asked.nodes}
    known = asked.objects.nodes_to_try(asked.cluster.pools, None)
    return [node for node in known if node.name not in names]


def _value(explained: ExplainedRefusal) -> dict[str, object]:
    return {
        **refusal_in_full(explained.refusal),
        "nodes": refused_value(explained.groups),
        "remedies": remedies_value(explained.remedies),
    }


def _pictures(explained: ExplainedRefusal, asked: AllocationInput, width: int) -> Iterator[RenderableType]:
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
    total = sum(len(claim.requests) for claim in asked.objects.claims)
    yield Text("")
    if total > 1:
        yield conflict_picture(refusal.conflict, total)
    yield holders_picture(refusal.requests, cluster.pools, cluster.allocated, width)
    yield Text("")
    yield remedies_picture(explained.remedies, refusal.cause)


def _short(reason: Reason) -> str:
    """Return a reason without what is told below it: the funnel, and what stands in the way of devices."""
    if reason.cause is Cause.NO_MATCHING_DEVICE:
        return "no device matches its class and selectors"
    return reason.detail.partition(";")[0] if reason.cause is Cause.INSUFFICIENT else reason.detail
