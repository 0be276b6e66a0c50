"""``tangram explain``: why claims do not fit, or why they get these devices and not others."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from rich.console import RenderableType

from scheduler_core.conflicts import RequestOf, smallest_conflict
from scheduler_core.engine import FIRST_FIT, Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Cause, Unallocatable
from scheduler_core.reasons import choices, demands
from scheduler_core.spread import spreads
from tangram.allocation_input import AllocationInput, add_allocation_input, read_allocation_input
from tangram.face import DOES_NOT_FIT, DONE, Face, Subparsers, add_command
from tangram.pictures.allocation import allocation_picture, refusal_picture
from tangram.pictures.explanation import (
    choices_picture,
    conflict_picture,
    demands_picture,
    holders_picture,
    spreads_picture,
)
from tangram.plain import plain
from tangram.policies import engine_of


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "explain",
        "tell why claims do not fit (exit status 1), or why they get these devices and not others",
        "tangram show --node a100x2 --as v1 | tangram explain -f - \\\n"
        "    -f deploy/examples/device-classes.yaml -f deploy/examples/mig-claim.yaml",
        _run,
    )
    add_allocation_input(parser)


def _run(options: Namespace, face: Face) -> int:
    asked = read_allocation_input(options)
    engine = engine_of(asked.cluster, FIRST_FIT)
    match engine.allocate_somewhere(asked.objects.claims, asked.nodes):
        case Allocation() as allocation:
            _explain_choices(allocation, asked, face, as_json=options.json)
            return DONE
        case Unallocatable() as refusal:
            _explain_refusal(refusal, asked, engine, face, as_json=options.json)
            return DOES_NOT_FIT


def _explain_choices(allocation: Allocation, asked: AllocationInput, face: Face, *, as_json: bool) -> None:
    cluster, node = asked.cluster, _node(allocation.node, asked)
    made = choices(allocation, asked.objects.claims, cluster, node)
    if as_json:
        face.out.json({"allocated": True, "node": node.name, "choices": plain(made)})
        return
    face.out.show(allocation_picture(allocation, cluster.pools, cluster.allocated, face.out.width))
    face.out.show("", choices_picture(made))


def _explain_refusal(
    refusal: Unallocatable, asked: AllocationInput, engine: Engine, face: Face, *, as_json: bool
) -> None:
    claims, cluster, node = asked.objects.claims, asked.cluster, _node(refusal.node, asked)
    found = demands(claims, cluster, node)
    conflict = _conflict(claims, engine, node)
    constraints = spreads(claims, cluster, node, found)
    if as_json:
        face.out.json(
            {
                "allocated": False,
                "cause": refusal.cause,
                **plain(refusal),
                "requests": plain(found),
                "constraints": plain(constraints),
                "conflict": plain(conflict),
            }
        )
        return
    pictures: list[RenderableType] = [refusal_picture(refusal), "", demands_picture(found)]
    if len(asked.nodes) > 1:
        pictures.insert(1, f"  nor on any of {len(asked.nodes) - 1} more; --node-name explains another")
    if refusal.cause is Cause.CONSTRAINT_UNSATISFIED:
        pictures += ["", spreads_picture(constraints)]
    total = sum(len(claim.requests) for claim in claims)
    pictures += ["", conflict_picture(conflict, total)]
    face.out.show(*pictures, holders_picture(found, cluster.pools, cluster.allocated, face.out.width))


def _conflict(claims: Sequence[Claim], engine: Engine, node: Node) -> tuple[RequestOf, ...]:
    return smallest_conflict(claims, lambda part: bool(engine.feasible_nodes(part, [node])))


def _node(name: str, asked: AllocationInput) -> Node:
    return next(node for node in asked.nodes if node.name == name)
