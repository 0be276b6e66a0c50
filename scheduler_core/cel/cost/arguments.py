"""The arguments of a call, and the estimate of its cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.cost.device_sizes import Path
from scheduler_core.cel.cost.ranges import UNKNOWN, Range
from scheduler_core.cel.tree import Call, CelType, Literal, Node


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call, the receiver of a member included."""

    node: Node
    known_size: Range | None
    path: Path

    @property
    def size(self) -> Range:
        """Return the size, unlimited where it is not known."""
        return UNKNOWN if self.known_size is None else self.known_size

    @property
    def type(self) -> CelType:
        """Return the type."""
        return self.node.type

    def whole_number(self, default: int) -> int:
        """Return the value of an integer literal, ``default`` for anything else."""
        if isinstance(self.node, Literal) and type(self.node.value) is int:
            return max(self.node.value, 0)
        return default


@dataclass(frozen=True, slots=True)
class CallCost:
    """What a call costs without its arguments, and how large its result is where that is known."""

    cost: Range
    size: Range | None = None


Arguments = Sequence[Argument]
Estimate = Callable[[Call, str, Arguments], CallCost]
