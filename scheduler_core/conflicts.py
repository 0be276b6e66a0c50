"""Which requests cannot hold together: a set that does not fit and of which none can be left out.

In come claims that do not fit and a question that says whether claims do; out come requests. Never looks
at devices itself: what a request needs is the question's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from scheduler_core.errors import SelectorError
from scheduler_core.model.claim import Claim, ClaimRef, Constraint

Fits = Callable[[Sequence[Claim]], bool]
"""Whether claims fit together. It is asked about parts of the claims, at most twice per request."""


@dataclass(frozen=True, slots=True)
class RequestOf:
    """A request and the claim that it belongs to."""

    claim: ClaimRef
    request: str

    def __str__(self) -> str:
        return f"{self.claim} request {self.request}"


def smallest_conflict(claims: Sequence[Claim], fits: Fits) -> tuple[RequestOf, ...]:
    """Return requests that cannot hold together, while any one of them less can.

    A request that does not fit alone is found first; otherwise requests are left out from the last to the
    first as long as the rest still does not fit, so that equal input gives an equal answer.
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
    return kept


def only(claims: Sequence[Claim], kept: Set[RequestOf]) -> tuple[Claim, ...]:
    """Return the claims with some of their requests, under the constraints that still bind any of them."""
    return tuple(found for claim in claims if (found := _reduced(claim, kept)).requests)


def _holds(claims: Sequence[Claim], kept: Sequence[RequestOf], fits: Fits) -> bool:
    """Whether the requests fit by themselves; a part that cannot be judged is not called a conflict."""
    try:
        return fits(only(claims, frozenset(kept)))
    except SelectorError:
        return True


def _reduced(claim: Claim, kept: Set[RequestOf]) -> Claim:
    requests = tuple(one for one in claim.requests if RequestOf(claim.ref, one.name) in kept)
    names = {one.name for one in requests}
    return replace(claim, requests=requests, constraints=tuple(_bound(claim, names)), configs=())


def _bound(claim: Claim, names: Set[str]) -> Iterator[Constraint]:
    """Yield the constraints over the named requests; one that bound only others binds nobody now."""
    for constraint in claim.constraints:
        still = tuple(name for name in constraint.requests if name.partition("/")[0] in names)
        if still or not constraint.requests:
            yield replace(constraint, requests=still)
