"""From a checked tree to a function of a device: one closure for each node.

The tree is walked once; what can be known without a device is known afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scheduler_core.cel import access, calls, literals, logic, loops, optional_calls
from scheduler_core.cel.rules import children
from scheduler_core.cel.steps import Build, Code, Plan, Scope, Step
from scheduler_core.cel.tree import Call, Fold, ListOf, Literal, MapOf, Name, Node, Presence, Select

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
"""Calls that do not simply compute their arguments."""


def compile_tree(node: Node) -> tuple[Code, int]:
    """Return the code of an expression and the number of slots that it needs, none where no loop does."""
    plan = Plan(is_metered=_has_loop(node))
    code = build(node, Scope(plan)).run
    return code, plan.slots if plan.is_metered else 0


def _has_loop(node: Node) -> bool:
    return isinstance(node, Fold) or any(map(_has_loop, children(node)))


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
