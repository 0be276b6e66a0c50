"""Finds what would make claims fit that do not, and checks each change with the allocator.

Takes claims, an engine on the cluster, the nodes that were asked about and those that were not. Returns
remedies, each of which the allocator has answered with devices. The engine's state is changed for single
questions and is as before afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from scheduler_core.advice.remedies import (
    Change,
    DropConstraint,
    EndClaims,
    Remedy,
    Reword,
    TakeFewer,
    UseNode,
    with_count,
)
from scheduler_core.advice.rewording import rewordings
from scheduler_core.advice.trials import QUESTIONS, Trials
from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.planning.freeing import freeings

_NODES: Final = 4  # nodes on which changes of the claims are tried
_OTHERS: Final = 64


def advise(
    claims: Sequence[Claim], engine: Engine, nodes: Sequence[Node], elsewhere: Sequence[Node] = ()
) -> tuple[Remedy, ...]:
    """Return the remedies: another node, a correction, claims to end, another value, fewer devices.

    Shape: of each kind the first that was found; empty where no single change was found to help. The claims
           fit on none of ``nodes``.
    """
    found: list[Remedy] = [*_other_node(claims, engine, elsewhere)]
    reworded = _reworded(claims, engine, nodes)
    found += [one for one in reworded if one.change is Change.CORRECTION]
    found += _ended(claims, engine, nodes)
    found += [one for one in reworded if one.change is Change.OTHER_VALUE]
    trials = Trials(engine)
    for node in nodes[:_NODES]:
        smaller: list[Remedy] = [*_fewer(claims, node, trials), *_dropped(claims, node, trials)]
        if smaller:
            found += smaller
            break
    return tuple(found)


def _other_node(claims: Sequence[Claim], engine: Engine, elsewhere: Sequence[Node]) -> Iterator[UseNode]:
    trials = Trials(engine, _OTHERS)
    names = (node.name for node in elsewhere[:_OTHERS] if trials.fits(claims, node))
    yield from (UseNode(node=name) for name in [next(names, None)] if name is not None)


def _ended(claims: Sequence[Claim], engine: Engine, nodes: Sequence[Node]) -> Iterator[EndClaims]:
    """Yield the smallest sets of claims whose end would make the claims fit; nothing if none would."""
    try:
        found = freeings(engine, claims, nodes, most=1, questions=QUESTIONS)
    except CoreError:
        return
    for option in found.options[:1]:
        ending = option.ending
        yield EndClaims(node=ending.node, held=ending.ended, is_fewest=ending.is_fewest and found.is_complete)


def _reworded(claims: Sequence[Claim], engine: Engine, nodes: Sequence[Node]) -> tuple[Reword, ...]:
    """Return the rewordings that help on the first node where any does."""
    trials = Trials(engine)
    for node in nodes[:_NODES]:
        try:
            found = tuple(rewordings(claims, engine.state.seen_from(node), node, trials))
        except CoreError:  # the claims themselves are wrong, and that is told elsewhere
            found = ()
        if found:
            return found
    return ()


def _fewer(claims: Sequence[Claim], node: Node, trials: Trials) -> Iterator[TakeFewer]:
    """Yield, per request for several devices, the most of them that fit."""
    for claim in claims:
        options = (option for request in claim.requests for option in request.alternatives)
        for option in options:
            asked = option.count or 1
            least, most = (
                0,
                asked - 1,
            )  # fits with ``least``, where that is not 0; not with more than ``most``
            wanted = TakeFewer(node=node.name, claim=claim.ref, request=option.name, asked=asked, count=asked)
            while least < most:
                middle = (least + most + 1) // 2
                fewer = replace(wanted, count=middle)
                if trials.fits([with_count(one, fewer) for one in claims], node):
                    least = middle
                else:
                    most = middle - 1
            if least:
                yield replace(wanted, count=least)


def _dropped(claims: Sequence[Claim], node: Node, trials: Trials) -> Iterator[DropConstraint]:
    """Yield each constraint without which the claims fit."""
    for claim in claims:
        for place, constraint in enumerate(claim.constraints):
            kept = tuple(one for number, one in enumerate(claim.constraints) if number != place)
            looser = [replace(one, constraints=kept) if one.ref == claim.ref else one for one in claims]
            if trials.fits(looser, node):
                yield DropConstraint(node=node.name, claim=claim.ref, constraint=constraint, place=place)
