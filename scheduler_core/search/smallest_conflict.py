"""Finds the smallest set of requests that do not fit together.

Input: claims that do not fit, and a function ``fits`` that says whether some claims fit. Output: requests.
This module does not examine devices; only ``fits`` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import combinations, islice
from typing import Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.model.claim import Claim, Constraint, Request, SameScope
from scheduler_core.model.refusal import RequestOf
from scheduler_core.rules.constraints import applies

Fits = Callable[[Sequence[Claim]], bool | None]
"""Whether claims fit together, None where that is undecided. It is called for parts of the claims."""

TRIED: Final = 100
"""How many smaller sets are tried, besides two calls per request."""
_LOOKED_AT: Final = 20_000


def smallest_conflict(claims: Sequence[Claim], fits: Fits) -> tuple[RequestOf, ...]:
    """Return the fewest requests that do not fit together; without any one of them the others fit.

    If a request does not fit alone, it is the answer. Otherwise requests are left out, from the last to the
    first, as long as the rest still does not fit. Then smaller sets are tried, at most ``TRIED``; of sets
    that ask for the same, one. If that limit is reached, no request can be left out of the answer, but it
    may not be the smallest such set. Equal input gives an equal answer.
    Shape: in the order of the claims; empty where the claims fit.
    """
    everything = tuple(RequestOf(claim.ref, request.name) for claim in claims for request in claim.requests)
    if _holds(claims, everything, fits):
        return ()
    for one in everything:
        if not _holds(claims, (one,), fits):
            return (one,)
    kept = everything
    for one in reversed(everything):
        fewer = tuple(other for other in kept if other != one)
        if not _holds(claims, fewer, fits):
            kept = fewer
    return next((few for few in _smaller(claims, len(kept)) if not _holds(claims, few, fits)), kept)


def _smaller(claims: Sequence[Claim], size: int) -> Iterator[tuple[RequestOf, ...]]:
    """Yield sets of two or more and fewer than ``size`` requests, the smallest first; of equal ones, one."""
    looks = {RequestOf(claim.ref, one.name): _look(claim, one) for claim in claims for one in claim.requests}
    sets = (few for count in range(2, size) for few in combinations(looks, count))
    met: set[object] = set()
    for few in islice(sets, _LOOKED_AT):
        key = frozenset(Counter(looks[one] for one in few).items())
        if key not in met and len(met) < TRIED:
            met.add(key)
            yield few


def _look(claim: Claim, request: Request) -> object:
    """Return what makes requests of one claim interchangeable."""
    options = tuple(
        (
            tuple(
                (number, one.group_of(option.name) if isinstance(one, SameScope) else 0)
                for number, one in enumerate(claim.constraints)
                if applies(one, option.name)
            ),
            (option.class_name, option.selectors, option.count, option.admin_access, option.tolerations),
            tuple(sorted((name, amount.nano) for name, amount in option.capacity.items())),
        )
        for option in request.alternatives
    )
    return claim.ref, options


def only(claims: Sequence[Claim], kept: Set[RequestOf]) -> tuple[Claim, ...]:
    """Return the claims with some of their requests, under the constraints that still bind any of them."""
    return tuple(found for claim in claims if (found := _reduced(claim, kept)).requests)


def _holds(claims: Sequence[Claim], kept: Sequence[RequestOf], fits: Fits) -> bool:
    """Whether the requests fit alone. An undecided set counts as fitting."""
    try:
        return fits(only(claims, frozenset(kept))) is not False
    except SelectorError:
        return True


def _reduced(claim: Claim, kept: Set[RequestOf]) -> Claim:
    requests = tuple(one for one in claim.requests if RequestOf(claim.ref, one.name) in kept)
    names = {one.name for one in requests}
    return replace(claim, requests=requests, constraints=tuple(_bound(claim, names)), configs=())


def _bound(claim: Claim, names: Set[str]) -> Iterator[Constraint]:
    """Yield the constraints that bind a named request, limited to the named requests."""
    for constraint in claim.constraints:
        still = tuple(name for name in constraint.requests if name.partition("/")[0] in names)
        if still or not constraint.requests:
            yield replace(constraint, requests=still)
