"""Waiting for what the kernel makes a moment after a change: a driver's probe is asynchronous.

Takes a question; returns its answer, or None where the time is up. Nothing here reads the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from plugin.base.budget import Budget

_LOOK_AGAIN_S: Final = 0.05

T = TypeVar("T")


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """How long one call waits for the machine.

    Shape: ``is_wanted`` whether somebody still waits for the call. Units: ``most_s`` seconds of ``clock``.
    """

    most_s: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    is_wanted: Callable[[], bool] = lambda: True

    def within(self, budget: Budget | None) -> Waiting:
        """Return the wait of a call that has a budget: it counts into that."""
        if budget is None:
            return self
        return replace(self, most_s=min(self.most_s, budget.left_s), is_wanted=budget.is_wanted)

    def ending(self, at_s: float) -> Waiting:
        """Return what is left of a wait that ends at a time of the clock."""
        return replace(self, most_s=max(0.0, at_s - self.clock()))

    def until(self, look: Callable[[], T | None]) -> T | None:
        """Ask again until there is an answer or the time is up, and return what there is then."""
        ends_at = self.clock() + self.most_s
        while (found := look()) is None and self.clock() < ends_at and self.is_wanted():
            self.sleep(_LOOK_AGAIN_S)
        return found
