"""Chooses the nodes for a division of units: which node gets which units, by the engine's policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from scheduler_core.engine.together.frontier import covers
from scheduler_core.engine.together.joint_questions import JointQuestions
from scheduler_core.engine.together.kind_search import Use
from scheduler_core.engine.together.shapes import Shape, Unit
from scheduler_core.engine.together.values import Counts
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation

Held = tuple[Counts, ...]
"""The largest vectors that a node holds."""


def chosen_nodes(
    uses: Sequence[Use], kinds: Mapping[Held, Sequence[Node]], shapes: Sequence[Shape], joint: JointQuestions
) -> list[tuple[Sequence[Unit], Allocation]] | None:
    """Return the units of each node and their devices, None where an answer is not known.

    Shape: nodes with the most units first; ``kinds`` as numbered in ``uses``. A node of another kind is taken
           where it holds the units too and no later use needs it.
    """
    free = {node.name: (number, node) for number, nodes in enumerate(kinds.values()) for node in nodes}
    listed = sorted(free, key=lambda name: free[name][1].name)
    needed = Counter(number for number, _ in uses)
    helds = list(kinds)
    left = Counter({number: len(nodes) for number, nodes in enumerate(kinds.values())})
    waiting = [iter(shape.units) for shape in shapes]
    found: list[tuple[Sequence[Unit], Allocation]] = []
    for number, counts in sorted(uses, key=lambda use: (-sum(use[1]), use[0])):
        needed[number] -= 1
        units = [next(waiting[shape]) for shape, count in enumerate(counts) for _ in range(count)]
        holding = {one for one, held in enumerate(helds) if left[one] > needed[one] and _holds(held, counts)}
        nodes = [free[name][1] for name in listed if name in free and free[name][0] in holding]
        allocation = joint.allocation(nodes, units)
        if allocation is None:
            return None
        taken, _ = free.pop(allocation.node)
        left[taken] -= 1
        found.append((units, allocation))
    return found


def _holds(held: Held, counts: Counts) -> bool:
    return any(covers(vector, counts) for vector in held)
