"""Relaxed signatures: claims that count vectors can express and that fit wherever the given claims fit.

Each request gets one alternative: any device that one of its own alternatives would take, in the smallest
number that one of them wants. Requests with admin access or for all devices are left out, and so are
constraints that compare scopes. Where the relaxed claims do not fit, the claims do not fit either.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.claims.claim_signature import Alternative, ClaimSignature, choices_of
from scheduler_core.model.claim import DistinctAttribute, MatchAttribute


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedSignature:
    """A relaxed signature.

    Shape: ``unions`` has, for each filter of ``signature``, the original filters that it unites; ``rules``
           the original number of each of its rules.
    """

    signature: ClaimSignature
    unions: tuple[tuple[int, ...], ...]
    rules: tuple[int, ...]


def relaxed_signatures(
    signature: ClaimSignature, first: int, shared: Container[int]
) -> tuple[RelaxedSignature, ...]:
    """Return relaxations of the requests from number ``first`` on: with constraints, then without any.

    Shape: empty where nothing is left; ``shared`` are filters that match shareable devices: count
           vectors cannot count what is left of those.
    """
    requests = [
        request
        for request in signature.requests[first:]
        if all(_is_counted(one) and one.filter not in shared for one in request)
    ]
    if not requests:
        return ()
    bound = _bound_rules(signature, requests)
    with_rules = [_relaxed(signature, requests, bound)] if bound else []
    return (*with_rules, _relaxed(signature, requests, ()))


def _is_counted(alternative: Alternative) -> bool:
    return alternative.count is not None and not alternative.admin_access


def _bound_rules(signature: ClaimSignature, requests: Sequence[Sequence[Alternative]]) -> tuple[int, ...]:
    """Return the rules that are kept: matches, and the distinctAttribute that binds most requests."""
    uses = [0] * len(signature.rules)
    for request in requests:
        for rule in frozenset.intersection(*(frozenset(one.rules) for one in request)):
            uses[rule] += 1
    bound = [number for number, count in enumerate(uses) if count]
    matches = [number for number in bound if isinstance(signature.rules[number], MatchAttribute)]
    distinct = [number for number in bound if isinstance(signature.rules[number], DistinctAttribute)]
    return (*matches, *sorted(distinct, key=lambda number: -uses[number])[:1])


def _relaxed(
    signature: ClaimSignature, requests: Sequence[Sequence[Alternative]], rules: Sequence[int]
) -> RelaxedSignature:
    numbers = {rule: number for number, rule in enumerate(rules)}
    unions: dict[tuple[int, ...], int] = {}
    found = tuple(tuple(_joined(request, numbers, unions)) for request in requests)
    claims = 1 + max(request[0].claim for request in requests)
    relaxed = ClaimSignature(
        filters=(),
        rules=tuple(signature.rules[rule] for rule in rules),
        requests=found,
        choices=tuple(choices_of(found, claims)),
        gap=None,
    )
    return RelaxedSignature(relaxed, tuple(unions), tuple(rules))


def _joined(
    request: Sequence[Alternative], numbers: dict[int, int], unions: dict[tuple[int, ...], int]
) -> Iterator[Alternative]:
    """Yield the one alternative that stands for all of a request's."""
    union = tuple(sorted({one.filter for one in request}))
    common = frozenset.intersection(*(frozenset(one.rules) for one in request))
    yield replace(
        request[0],
        filter=unions.setdefault(union, len(unions)),
        count=min(one.count or 0 for one in request),
        rules=tuple(sorted(numbers[rule] for rule in common if rule in numbers)),
    )
