"""Coverage: whether the tables cover a claim on a node, and why not.

The solvers raise ``BeyondTables`` where count vectors cannot express what is asked. Only the planner and the
engine catch it, and they turn it into ``Uncovered``.
"""

from __future__ import annotations

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.solve.plan import NodePlan


@dataclass(frozen=True, slots=True)
class Covered:
    """The tables answer. Shape: ``plan`` needs only the states of the node's components."""

    plan: NodePlan


@dataclass(frozen=True, slots=True)
class Uncovered:
    """The backtracking search has to answer. Shape: ``reason`` a sentence."""

    reason: str


Coverage = Covered | Uncovered
