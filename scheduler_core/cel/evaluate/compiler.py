"""Compile a checked tree to a function of a device: one closure for each node.

The tree is walked once. Everything that does not depend on the device is computed then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.cost.plain import is_plain
from scheduler_core.cel.evaluate import access, calls, literals, logic, loops, optional_calls
from scheduler_core.cel.evaluate.steps import Build, Code, Plan, Scope, Step
from scheduler_core.cel.tree import Call, Fold, ListOf, Literal, MapOf, Name, Node, Presence, Select
from scheduler_core.cel.work import WORK_LIMIT

_SPECIAL: Final[dict[str, Callable[[Call, Scope, Build], Step]]] = {
    "_&&_": logic.conjunction,
    "_||_": logic.disjunction,
    "_?_:_": logic.conditional,
    "_[_]": access.index,
    "_?._": access.optional_select,
    "_[?_]": access.optional_select,
    "or": optional_calls.alternative,
    "orValue": optional_calls.alternative,
}
"""Calls that do not always evaluate all their arguments."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression.

    Shape: ``work`` is what is left for an evaluation after the weight of the expression, None where nothing
           counts while it runs; ``variables`` is the number of its variables; ``max_cost`` the most that
           it can cost on any device, None where that is far below the limit and was not counted.
    Units: ``work`` in units of work, ``max_cost`` in CEL cost units.
    """

    code: Code
    work: int | None
    variables: int
    max_cost: int | None


def compile_tree(node: Node) -> Program:
    """Compile a checked expression.

    Raises: CompileError where a part of it cannot be compiled.
    """
    max_cost = None if is_plain(node) else _estimated(node)
    plan = Plan()
    step = build(node, Scope(plan))
    work = WORK_LIMIT - step.weight if plan.counts else None
    return Program(step.run, work, plan.slots - 1, max_cost)


def _estimated(node: Node) -> int:
    from scheduler_core.cel.cost.estimate import estimate  # nearly all expressions are plain

    return estimate(node).high


def build(node: Node, scope: Scope) -> Step:
    """Compile one node and what is below it."""
    match node:
        case Literal():
            return literals.literal(node)
        case Name():
            return access.name(node, scope)
        case Select():
            return access.select(node, scope, build)
        case Presence():
            return access.presence(node, scope, build)
        case Call():
            return _SPECIAL.get(node.function, calls.call)(node, scope, build)
        case ListOf():
            return literals.list_of(node, scope, build)
        case MapOf():
            return literals.map_of(node, scope, build)
        case Fold():
            return loops.fold(node, scope, build)
