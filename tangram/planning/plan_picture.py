"""Draws plans: the room for more devices, what each policy places, and what to end so that more fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.model.sentences import too_many_devices
from scheduler_core.planning.freeing import Freeing, Freeings
from scheduler_core.planning.plan import KindRoom, PolicyOutcome, Workload, WorkloadPlan
from scheduler_core.planning.room import ClusterRoom
from tangram.planning.all_copies_picture import additions_value, all_copies_picture, ending_value
from tangram.program.fitting import Column, FittingTable, Hanging

_NAMED = 3  # nodes that are named; more are counted


def room_picture(rooms: Sequence[KindRoom], nodes: int) -> RenderableType:
    """List how many more devices of each kind fit, in all and by node."""
    head = Text(f"how many more devices fit on {_counted(nodes, 'node')}, if claims ask for one kind only")
    columns = [Column("KIND"), Column("IN ALL", is_right=True), Column("BY NODE", is_prose=True)]
    table = FittingTable(columns, [[one.kind.name, _count(one.room), _by_node(one.room)] for one in rooms])
    return Group(Hanging(head), table)


def plan_picture(found: WorkloadPlan, workload: Workload, policy: str) -> RenderableType:
    """Show the policies side by side, then what to end for one more copy, and what makes all fit."""
    names = ", ".join(str(claim.ref) for claim in workload.claims)
    head = Text(f"{_copies(workload.count)} of {names}", style="bold")
    parts: list[RenderableType] = [head, _side_by_side(found), "", _most(found.most)]
    if found.freeings is not None:
        number = found.outcomes[policy].placement.placed + 1
        parts += ["", *_freeings(found.freeings, number, policy)]
    impossible = [one for one in workload.claims if too_many_devices(one.least)]
    parts += [Hanging(f"claim {one.ref} {too_many_devices(one.least)}") for one in impossible]
    if found.additions is not None and not impossible:
        parts += ["", *all_copies_picture(found.additions, found.ending, workload.count, policy)]
    return Group(*parts)


def _side_by_side(found: WorkloadPlan) -> FittingTable:
    outcomes = list(found.outcomes.values())
    rows = [
        ["copies placed", *map(_placed, outcomes)],
        ["nodes used", *(str(len(one.placement.nodes)) for one in outcomes)],
        ["then fragmentation", *(_percent(one.fragmentation) for one in outcomes)],
    ]
    for left in zip(*(one.left for one in outcomes), strict=True):
        rows.append([f"then room for {left[0].kind.name}", *(_count(one.room) for one in left)])
    return FittingTable([Column(""), *map(Column, found.outcomes)], rows)


def _percent(share: float | None) -> str:
    return "not known" if share is None else f"{100 * share:.1f} %"


def _placed(outcome: PolicyOutcome) -> str:
    one = outcome.placement
    found = f"{one.placed} of {one.asked}"
    return found if one.undecided is None else f"{found}, then undecided"


def _most(room: ClusterRoom) -> RenderableType:
    at_least = "" if room.is_exact else "at least "
    fits = "fits" if room.count == 1 else "fit"
    return Hanging(f"{at_least}{_copies(room.count)} {fits} if all are placed as well as they can be")


def _freeings(found: Freeings, number: int, policy: str) -> Iterator[RenderableType]:
    if not found.options:
        told = "what to end was not found"
        if found.is_complete:
            told = "ending other claims does not help"
        yield Hanging(f"copy {number} does not fit under {policy}; {told}")
    else:
        yield Text(f"What makes copy {number} fit under {policy}:", style="bold")
        for one in found.options:
            yield _option(one)
    if not found.is_complete:
        asked = f"{found.questions:,} questions to the allocator"
        yield Hanging(f"The search stopped after {asked}: fewer claims may do.")


def _option(one: Freeing) -> RenderableType:
    ending = one.ending
    head = f"  on {ending.node}: {_counted(len(ending.ended), 'claim')}"
    alike = f"; likewise on {_named(one.alike)}" if one.alike else ""
    lines: list[RenderableType] = [Hanging(f"{head}{alike}")]
    for claim in ending.ended:
        node = one.moves.get(claim.ref)
        told = f"end {claim.ref}" if node is None else f"move {claim.ref}: it then fits on {node}"
        lines.append(Hanging(f"    {told}"))
    return Group(*lines)


def _by_node(room: ClusterRoom) -> str:
    """Return which nodes take how many, those with the most first: ``8 on a, b; 0 on 12 nodes``."""
    by_count: dict[tuple[int, bool], list[str]] = {}
    for one in room.nodes:
        by_count.setdefault((one.count, one.is_exact), []).append(one.node)
    parts = sorted(by_count.items(), key=lambda part: -part[0][0])
    return "; ".join(
        f"{'' if is_exact else 'at least '}{count} on {_named(nodes)}" for (count, is_exact), nodes in parts
    )


def _named(nodes: Sequence[str]) -> str:
    return ", ".join(nodes) if len(nodes) <= _NAMED else _counted(len(nodes), "node")


def _count(room: ClusterRoom) -> str:
    return str(room.count) if room.is_exact else f"at least {room.count}"


def _copies(count: int) -> str:
    return "1 copy" if count == 1 else f"{count} copies"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def room_value(rooms: Sequence[KindRoom]) -> list[Mapping[str, object]]:
    """Return rooms for machines."""
    return [{"kind": one.kind.name, "driver": one.kind.driver, **_room(one.room)} for one in rooms]


def plan_value(found: WorkloadPlan, workload: Workload, policy: str) -> Mapping[str, object]:
    """Return a plan for machines."""
    placed = found.outcomes[policy].placement.placed
    return {
        "claims": [str(claim.ref) for claim in workload.claims],
        "count": workload.count,
        "fits": placed == workload.count,
        "policy": policy,
        "most": _room(found.most),
        "policies": {name: _outcome(one) for name, one in found.outcomes.items()},
        "freeing": None if found.freeings is None else _freeings_value(found.freeings),
        "adding": None if found.additions is None else additions_value(found.additions),
        "endingForAll": None if found.ending is None else ending_value(found.ending),
    }


def _outcome(one: PolicyOutcome) -> Mapping[str, object]:
    placement = one.placement
    undecided = None if placement.undecided is None else str(placement.undecided)
    return {
        "placed": placement.placed,
        "nodes": placement.nodes,
        "undecided": undecided,
        "fragmentation": one.fragmentation,
        "room": room_value(one.left),
    }


def _room(room: ClusterRoom) -> dict[str, object]:
    nodes = [{"node": one.node, "count": one.count, "isExact": one.is_exact} for one in room.nodes]
    return {"count": room.count, "isExact": room.is_exact, "nodes": nodes}


def _freeings_value(found: Freeings) -> Mapping[str, object]:
    options = [
        {
            "node": one.ending.node,
            "isFewest": one.ending.is_fewest,
            "end": [
                {"claim": str(claim.ref), "thenFitsOn": one.moves.get(claim.ref)}
                for claim in one.ending.ended
            ],
            "alike": one.alike,
        }
        for one in found.options
    ]
    return {"options": options, "isComplete": found.is_complete, "questions": found.questions}
