"""The answer to what ``tangram allocate`` reads, for claims alone and for those of pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final
from uuid import UUID, uuid5

from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.result import Answer
from tangram.allocation_input import AllocationInput

_SHARES: Final = UUID("5b9c3f0e-2d53-5a43-8a53-6d8c1f6b7c21")
"""Makes ids of shares out of names."""


def answered(asked: AllocationInput, engine: Engine) -> Answer:
    """Return devices for the claims, which may ask by annotations for more than the API says."""
    if asked.may_be_marked:
        from tangram.marked import marked_answer  # few files have an annotation or a node

        found = marked_answer(asked, engine)
        if found is not None:
            return found
    return engine.allocate_somewhere(asked.objects.claims, asked.nodes)


def share_ids(claims: Iterable[Claim]) -> Iterator[str]:
    """Yield ids of shares: the same claims get the same ones again, other claims get others."""
    named = ", ".join(str(claim.ref) for claim in claims)
    return (str(uuid5(_SHARES, f"{named} {number}")) for number in count())
