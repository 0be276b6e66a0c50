"""Finds what would make claims fit that do not, and checks each change with the allocator.

Takes claims, an engine on the cluster, the nodes that were asked about and those that were not. Returns
remedies, each of which the allocator has answered with devices. The engine's state is changed for single
questions and is as before afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.advice.pairs import pairs
from scheduler_core.advice.remedies import (
    AskForLess,
    Change,
    DropConstraint,
    MatchWiderPlace,
    Remedy,
    Reword,
    SingleChange,
    TakeFewer,
    UseNode,
)
from scheduler_core.advice.single_changes import dropped, ended, fewer, less, reworded_on, widened
from scheduler_core.advice.trials import Trials
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node

_NODES: Final = 4  # nodes on which changes of the claims are tried
_OTHERS: Final = 64
_Smaller = TakeFewer | AskForLess | MatchWiderPlace | DropConstraint


def advise(
    claims: Sequence[Claim], engine: Engine, nodes: Sequence[Node], elsewhere: Sequence[Node] = ()
) -> tuple[Remedy, ...]:
    """Return the remedies: another node, a correction, claims to end, another value, fewer devices.

    Shape: of each kind the first that was found; pairs of changes where no single one was found to help;
           empty where no pair was either. The claims fit on none of ``nodes``.
    """
    return single_changes(claims, engine, nodes, elsewhere) or pairs(claims, engine, nodes, elsewhere)


def single_changes(
    claims: Sequence[Claim], engine: Engine, nodes: Sequence[Node], elsewhere: Sequence[Node]
) -> tuple[SingleChange, ...]:
    """Return the remedies that change one thing. Shape: as ``advise``."""
    found: list[SingleChange] = [*_other_node(claims, engine, elsewhere)]
    reworded = _reworded(claims, engine, nodes)
    found += [one for one in reworded if one.change is Change.CORRECTION]
    found += ended(claims, engine, nodes, Trials(engine))
    found += [one for one in reworded if one.change is Change.OTHER_VALUE]
    trials = Trials(engine)
    smaller: list[_Smaller] = []
    for node in nodes[:_NODES]:
        smaller += fewer(claims, node, trials)
        smaller += less(claims, engine, node, trials.fits)
        smaller += widened(claims, node, trials.fits)
        smaller += dropped(claims, node, trials.fits)
    return (*found, *_nearest(smaller))


def _nearest(changes: Sequence[_Smaller]) -> Iterator[_Smaller]:
    """Yield of one change on several nodes that which comes nearest to what was asked, else the first."""
    best: dict[tuple[object, ...], tuple[int, _Smaller]] = {}
    for change in changes:
        key: tuple[object, ...]
        match change:
            case TakeFewer(claim=claim, request=request, count=size):
                key = (claim, request)
            case AskForLess(claim=claim, request=request, capacity=capacity, amount=amount):
                key, size = (claim, request, capacity), amount.nano
            case MatchWiderPlace(old=old):
                key, size = (old,), 0
            case DropConstraint(claim=claim, place=place):
                key, size = (claim, place), 0
        if key not in best or size > best[key][0]:
            best[key] = (size, change)
    yield from (change for _, change in best.values())


def _other_node(claims: Sequence[Claim], engine: Engine, elsewhere: Sequence[Node]) -> Iterator[UseNode]:
    trials = Trials(engine, _OTHERS)
    names = (node.name for node in elsewhere[:_OTHERS] if trials.fits(claims, node))
    yield from (UseNode(node=name) for name in [next(names, None)] if name is not None)


def _reworded(claims: Sequence[Claim], engine: Engine, nodes: Sequence[Node]) -> tuple[Reword, ...]:
    """Return the rewordings that help on the first node where any does."""
    trials = Trials(engine)
    found = (reworded_on(claims, engine, node, trials.fits) for node in nodes[:_NODES])
    return next((one for one in found if one), ())
