"""Which alternatives of ``firstAvailable`` an answer takes, compared with those that a case expects.

The claim orders its alternatives; a policy does not. Another policy may reach an earlier alternative by
giving other devices to other requests, but never a later one. Rule S12 of docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scheduler_core.model.claim import Claim


def worse_alternatives(
    claims: Sequence[Claim], wanted: Sequence[Iterable[str]], found: Sequence[Iterable[str]]
) -> Iterator[str]:
    """Yield a line where ``found`` prefers less than ``wanted``.

    Shape: both have, per claim, the requests that its results name.
    """
    expected = _ranks(claims, wanted)
    given = _ranks(claims, found)
    if given > expected:
        yield f"alternatives: expected rank {expected} or better, found {given}"


def _ranks(claims: Sequence[Claim], named: Sequence[Iterable[str]]) -> list[int]:
    """Return the place of the alternative that each request is answered by, 0 the most preferred."""
    return [
        _place([option.name for option in request.alternatives], names)
        for claim, names in zip(claims, map(set, named), strict=True)
        for request in claim.requests
    ]


def _place(options: Sequence[str], names: set[str]) -> int:
    return next((place for place, option in enumerate(options) if option in names), len(options))
