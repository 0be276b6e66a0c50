"""Draws what makes all copies of a workload fit: nodes to add, or claims to end on several nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from scheduler_core.planning.adding import Addition, Additions
from scheduler_core.planning.ending_for_all import EndingForAll, NodeEnding
from tangram.pictures.counted import counted
from tangram.program.fitting import Hanging

_SHOWN = 5  # kinds of nodes


def all_copies_picture(
    additions: Additions, ending: EndingForAll | None, count: int, policy: str
) -> Iterator[RenderableType]:
    """Yield the nodes to add, the fewest first, then the claims to end."""
    copies = "the copy fit" if count == 1 else f"all {count} copies fit"
    yield Text(f"To make {copies} under {policy}:", style="bold")
    for number, one in enumerate(additions.options[:_SHOWN]):
        yield Hanging(f"  {'or ' if number else ''}{_addition(one)}")
    if not additions.options:
        is_known = "no kind of node that is known helps" if additions.is_complete else "was not found"
        yield Hanging(f"  nodes to add: {is_known}; name another kind: --may-add KIND")
    if ending is not None:
        yield from _ending(ending, count, policy, "or " if additions.options else "")


def _addition(one: Addition) -> str:
    if one.count is None:
        return f"add at least {_nodes(one.at_least, one.kind)}; the search stopped at its bound"
    fewer = "" if one.is_fewest else "; fewer may do"
    return f"add {_nodes(one.count, one.kind)}{fewer}"


def _nodes(count: int, kind: str) -> str:
    return f"{counted(count, 'node')} {kind if kind.startswith('like ') else f'of kind {kind}'}"


def _ending(found: EndingForAll, count: int, policy: str, otherwise: str) -> Iterator[RenderableType]:
    if found.nodes is None:
        told = "ending other claims does not help" if found.is_complete else "what to end was not found"
        yield Hanging(f"  {told}")
        return
    fewer = "" if found.is_complete else "; the search stopped at its bound, fewer may do"
    yield Hanging(f"  {otherwise}end {counted(found.total, 'claim')}{fewer}")
    for one in found.nodes:
        yield from _on_node(one, found)
    if found.placed < count:
        yield Hanging(f"    the copies fit together then, but {policy} places only {found.placed} of {count}")


def _on_node(one: NodeEnding, found: EndingForAll) -> Iterator[RenderableType]:
    yield Hanging(f"    on {one.ending.node}, for {'1 copy' if one.copies == 1 else f'{one.copies} copies'}")
    for claim in one.ending.ended:
        node = found.moves.get(claim.ref)
        yield Hanging(
            f"      {f'end {claim.ref}' if node is None else f'move {claim.ref}: it then fits on {node}'}"
        )


def additions_value(found: Additions) -> Mapping[str, object]:
    """Return nodes to add for machines."""
    options = [
        {"kind": one.kind, "count": one.count, "atLeast": one.at_least, "isFewest": one.is_fewest}
        for one in found.options
    ]
    return {"options": options, "isComplete": found.is_complete}


def ending_value(found: EndingForAll) -> Mapping[str, object]:
    """Return what to end for all copies, for machines."""
    nodes = [
        {
            "node": one.ending.node,
            "copies": one.copies,
            "end": [
                {"claim": str(claim.ref), "thenFitsOn": found.moves.get(claim.ref)}
                for claim in one.ending.ended
            ],
        }
        for one in found.nodes or ()
    ]
    return {
        "found": found.nodes is not None,
        "total": found.total,
        "nodes": nodes,
        "placed": found.placed,
        "isComplete": found.is_complete,
    }
