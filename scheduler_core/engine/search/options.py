"""What the backtracking search chooses among: devices that match, the options of a request, an answer.

A set of devices is an integer; bit *n* is the *n*-th device of the search space or of a component.
"""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.claims.claim_signature import Alternative
from scheduler_core.engine.solve.columns import Masks


@dataclass(frozen=True, slots=True)
class MatchedPositions:
    """The positions of a component that the filters of a signature match.

    Shape: an entry per filter: ``chosen`` meet it, ``barred`` would meet it without a taint, on ``failed`` a
           selector fails.
    """

    chosen: Masks
    barred: Masks
    failed: Masks

    def within(self, usable: int) -> MatchedPositions:
        """Return the same, limited to some positions."""
        return MatchedPositions(
            *[tuple([mask & usable for mask in masks]) for masks in (self.chosen, self.barred, self.failed)]
        )


@dataclass(frozen=True, slots=True)
class RequestOption:
    """One alternative of a request, ready to be searched.

    Shape: ``candidates`` are all matching devices, barred ones and those on which a selector fails too;
           ``chosen`` those that may be taken; ``count`` None for all of them; ``rules`` pairs of a rule and
           the group of requests in it; ``shares`` how much it consumes of each shareable device.
    """

    alternative: Alternative
    count: int | None
    candidates: int
    chosen: int
    failed: int
    rules: tuple[tuple[int, int], ...]
    shares: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Picked:
    """An answer. Shape: the alternative of each request, and the devices of each in the order taken."""

    options: tuple[int, ...]
    devices: tuple[tuple[int, ...], ...]
