"""Single changes after which claims fit on a node. Each one that is yielded was tried.

Takes claims that do not fit, a node, and trials or an engine. The engine's state is as before afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from scheduler_core.advice.remedies import (
    AskForLess,
    DropConstraint,
    EndClaims,
    MatchWiderPlace,
    Reword,
    TakeFewer,
    changed_claims,
    with_count,
    with_less,
)
from scheduler_core.advice.rewording import Helps, rewordings
from scheduler_core.advice.trials import Trials
from scheduler_core.base.errors import CoreError
from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim, ClaimRef, MatchAttribute
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import Node
from scheduler_core.model.places import wider_places
from scheduler_core.planning.freeing import freeings
from scheduler_core.search.candidates import Offer, offers

_AMOUNTS: Final = 12  # smaller amounts that are tried


def reworded_on(claims: Sequence[Claim], engine: Engine, node: Node, helps: Helps) -> tuple[Reword, ...]:
    """Return the changes of selectors that help, none where the claims themselves are wrong."""
    try:
        return tuple(rewordings(claims, engine.state.seen_from(node), node, helps))
    except CoreError:  # that is told elsewhere
        return ()


def ended(
    claims: Sequence[Claim], engine: Engine, nodes: Sequence[Node], trials: Trials
) -> Iterator[EndClaims]:
    """Yield the smallest set of claims whose end would make the claims fit; nothing if none would."""
    try:
        found = freeings(engine, claims, nodes, most=1, questions=trials.left)
    except CoreError:
        return
    trials.left -= found.questions
    for option in found.options[:1]:
        ending = option.ending
        yield EndClaims(node=ending.node, held=ending.ended, is_fewest=ending.is_fewest and found.is_complete)


def fewer(claims: Sequence[Claim], node: Node, trials: Trials) -> Iterator[TakeFewer]:
    """Yield, per request for several devices, the most of them that fit."""
    for wanted in asked_counts(claims, node):
        # It fits with ``least``, where that is not 0, and not with more than ``most``.
        least, most = 0, wanted.asked - 1
        while least < most:
            middle = (least + most + 1) // 2
            smaller = replace(wanted, count=middle)
            if trials.fits([with_count(one, smaller) for one in claims], node):
                least = middle
            else:
                most = middle - 1
        if least:
            yield replace(wanted, count=least)


def asked_counts(claims: Sequence[Claim], node: Node) -> Iterator[TakeFewer]:
    """Yield, per request, the remedy that changes nothing yet."""
    for claim in claims:
        for option in (option for request in claim.requests for option in request.alternatives):
            asked = option.count or 1
            yield TakeFewer(node=node.name, claim=claim.ref, request=option.name, asked=asked, count=asked)


def less(claims: Sequence[Claim], engine: Engine, node: Node, helps: Helps) -> Iterator[AskForLess]:
    """Yield, per capacity that a request asks for, the largest smaller amount of a device that helps."""
    cluster = engine.state.seen_from(node)
    seen = offers(cluster.pools_seen_from(node), node, cluster.features)
    for claim in claims:
        for option in (option for request in claim.requests for option in request.alternatives):
            for name, asked in option.capacity.items():
                wanted = AskForLess(
                    node=node.name,
                    claim=claim.ref,
                    request=option.name,
                    capacity=name,
                    asked=asked,
                    amount=asked,
                )
                smaller = (replace(wanted, amount=amount) for amount in _below(asked, name, seen))
                changes = ((one, [with_less(each, one) for each in claims]) for one in smaller)
                yield from islice((one for one, changed in changes if helps(changed, node)), 1)


def widened(claims: Sequence[Claim], node: Node, helps: Helps) -> Iterator[MatchWiderPlace]:
    """Yield, per attribute of a place that constraints match, the closest wider place that helps.

    A machine may not know the closest places: there are no switches in many virtual machines, and GPUs have a
    root of their own on others, so that an attribute is absent or never equal.
    """
    matched: dict[QualifiedName, list[ClaimRef]] = {}
    for claim in claims:
        for constraint in claim.constraints:
            if isinstance(constraint, MatchAttribute):
                matched.setdefault(constraint.attribute, []).append(claim.ref)
    for old, refs in matched.items():
        wider = (
            MatchWiderPlace(node=node.name, claims=tuple(dict.fromkeys(refs)), old=old, new=new)
            for new in wider_places(old)
        )
        yield from islice((one for one in wider if helps(changed_claims(one, claims), node)), 1)


def dropped(claims: Sequence[Claim], node: Node, helps: Helps) -> Iterator[DropConstraint]:
    """Yield each constraint without which the claims fit."""
    for claim in claims:
        for place, constraint in enumerate(claim.constraints):
            kept = tuple(one for number, one in enumerate(claim.constraints) if number != place)
            looser = [replace(one, constraints=kept) if one.ref == claim.ref else one for one in claims]
            if helps(looser, node):
                yield DropConstraint(node=node.name, claim=claim.ref, constraint=constraint, place=place)


def _below(asked: Quantity, name: str, seen: Sequence[Offer]) -> list[Quantity]:
    """Return the amounts that devices have which are smaller than the one asked for, the largest first."""
    had = (one.device.capacity.get(qualified(name, one.view.driver)) for one in seen)
    return sorted({one for one in had if one is not None and one < asked}, reverse=True)[:_AMOUNTS]
