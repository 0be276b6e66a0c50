"""The evaluator that counts as cel-go does. An error is a value here, of the type EvaluationError."""

from __future__ import annotations

from typing import Any

from scheduler_core.cel.cost import LIST, MAP
from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.measured import calls, folds, structures
from scheduler_core.cel.measured.chains import Qualifier, chain_of, is_attribute, is_literal, qualified
from scheduler_core.cel.measured.tally import Names, Tally, problem
from scheduler_core.cel.tree import Call, Fold, ListOf, Literal, MapOf, Name, Node, Presence
from scheduler_core.cel.values import Option, TypeValue
from scheduler_core.cel.view import DeviceView


class Evaluator:
    """One evaluation on one device."""

    def __init__(self, view: DeviceView, tally: Tally) -> None:
        self._view = view
        self._tally = tally

    def value(self, node: Node, names: Names) -> Any:
        """Return the value of a node, or its error, and count what it costs."""
        self._tally.work.spend(1)
        if is_literal(node, names):
            free = Tally(work=self._tally.work)
            return Evaluator(self._view, free)._computed(node, names)
        return self._attribute(node, names) if is_attribute(node) else self._computed(node, names)

    def _computed(self, node: Node, names: Names) -> Any:
        def inside(part: Node) -> Any:
            return self.value(part, names)

        match node:
            case Literal(value=value):
                return value
            case Name(name=name):
                return TypeValue(name)
            case ListOf():
                self._tally.charge(LIST)
                return structures.list_of(node, inside)
            case MapOf():
                self._tally.charge(MAP)
                return structures.map_of(node, inside)
            case Fold():
                return folds.fold(node, names, self.value, self._tally)
            case Call():
                return calls.call(node, names, inside, self._tally)
            case _:
                raise AssertionError("a selection is an attribute")

    def _attribute(self, node: Node, names: Names) -> Any:
        """Return what a name with its fields and indexes stands for: a unit for each of them, one for all."""
        value = self._resolved(node, names, ())
        root, _ = chain_of(node)
        is_conditional = isinstance(root, Call) and root.function == "_?_:_"
        self._tally.charge((not is_conditional) - isinstance(node, Presence))
        return value.is_present if isinstance(node, Presence) and isinstance(value, Option) else value

    def _resolved(self, node: Node, names: Names, more: tuple[Qualifier, ...]) -> Any:
        """Return the same without the unit for all."""
        root, own = chain_of(node)
        qualifiers = (*own, *more)
        match root:
            case Call(function="_?_:_" as symbol, arguments=(condition, first, second)):
                choice = self.value(condition, names)
                if choice is True or choice is False:
                    return self._resolved(first if choice else second, names, qualifiers)
                return problem(symbol, choice)
            case Name(name=name) if name in names:
                value = names[name].read()
            case Name(name="device"):
                value = self._view
            case _:
                value = self.value(root, names)
        if isinstance(value, EvaluationError):
            return value
        return qualified(self._tally, value, qualifiers, lambda key: self._key(key, names))

    def _key(self, node: Node, names: Names) -> Any:
        is_read = is_attribute(node) and not is_literal(node, names)
        return self._resolved(node, names, ()) if is_read else self.value(node, names)
