"""Asks the allocator questions about changed claims.

The number of questions is bounded, and so are the steps that they take together. A question that reaches a
bound, or whose selectors fail, counts as one without an answer: nothing is promised that was not allocated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.base.effort import DECISION
from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation

QUESTIONS: Final = 400
_STEPS: Final = 20 * DECISION


class Trials:
    """Questions to one engine. Shape: ``left`` is how many more may be asked."""

    def __init__(self, engine: Engine, most: int = QUESTIONS) -> None:
        self.left = most
        self._engine = engine
        self._last_step = engine.effort.steps + _STEPS

    @property
    def is_over(self) -> bool:
        """Whether the bound is reached."""
        return self.left <= 0 or self._engine.effort.steps >= self._last_step

    def fits(self, claims: Sequence[Claim], node: Node) -> bool:
        """Whether the allocator gives devices on a node."""
        if self.is_over:
            return False
        self.left -= 1
        try:
            return isinstance(self._engine.decide(claims, node), Allocation)
        except CoreError:
            return False
