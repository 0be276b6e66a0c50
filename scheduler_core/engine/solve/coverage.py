"""Whether the tables cover a claim on a node: one answer, and one exception that leads to it.

The solvers raise ``BeyondTables`` where count vectors cannot express what is asked. The planner turns it
into ``Uncovered`` once per plan, the engine once per decision; nobody else catches it.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_core.engine.solve.plan import NodePlan


@dataclass(frozen=True, slots=True)
class Covered:
    """The tables answer. Shape: ``plan`` lacks nothing but the states of the node's components."""

    plan: NodePlan


@dataclass(frozen=True, slots=True)
class Uncovered:
    """The backtracking search has to answer. Shape: ``reason`` a sentence."""

    reason: str


Coverage = Covered | Uncovered
