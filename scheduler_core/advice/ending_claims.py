"""Finds the fewest claims that have to end so that other claims fit.

Takes claims and nodes; asks trials. Ending more claims never takes devices away, so that on a node where all
claims ended do not help, none do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from scheduler_core.advice.remedies import EndClaims
from scheduler_core.advice.trials import Trials
from scheduler_core.model.claim import AllocatedClaim, Claim
from scheduler_core.model.nodes import Node

_NODES: Final = 32


def fewest_to_end(claims: Sequence[Claim], nodes: Sequence[Node], trials: Trials) -> EndClaims | None:
    """Return the fewest claims to end, None where ending claims does not help or was not found to help.

    Of equally few claims those with the fewest devices are preferred, then the order of the nodes counts.
    """
    best: EndClaims | None = None
    for node in nodes[:_NODES]:
        found = _on(claims, node, trials, len(best.held) if best is not None else None)
        best = found or best
        if best is not None and len(best.held) == 1:
            return best
    if best is None or (len(nodes) <= _NODES and not trials.is_over):
        return best
    return EndClaims(node=best.node, held=best.held, is_fewest=False)


def _on(claims: Sequence[Claim], node: Node, trials: Trials, below: int | None) -> EndClaims | None:
    """Return the fewest claims to end on one node where they are fewer than ``below``."""
    held = sorted(trials.held_on(node), key=lambda one: (len(one.results), str(one.ref)))
    if not held or not trials.fits(claims, node, held):
        return None
    for one in held:
        if trials.fits(claims, node, (one,)):
            return EndClaims(node=node.name, held=(one,), is_fewest=True)
    few = _reduced(claims, node, trials, held)
    most = len(few) if below is None else min(len(few), below)
    for size in range(2, most):
        for some in combinations(held, size):
            if trials.fits(claims, node, some):
                return EndClaims(node=node.name, held=some, is_fewest=not trials.is_over)
            if trials.is_over:
                break
    if below is not None and len(few) >= below:
        return None
    return EndClaims(node=node.name, held=few, is_fewest=not trials.is_over)


def _reduced(
    claims: Sequence[Claim], node: Node, trials: Trials, held: Sequence[AllocatedClaim]
) -> tuple[AllocatedClaim, ...]:
    """Return some of the claims, without any one of which the others would not be enough.

    The largest are left in place first: they cost their users most.
    """
    ended = tuple(held)
    for one in sorted(held, key=lambda one: -len(one.results)):
        fewer = tuple(other for other in ended if other is not one)
        if trials.fits(claims, node, fewer):
            ended = fewer
    return ended
