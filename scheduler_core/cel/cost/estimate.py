"""The highest cost of an expression on any device within the limits of the API, as upstream estimates it.

A size that is not known counts as unlimited, so an expression with a high estimate may be cheap. One with a
low estimate may be expensive: see decision 0037.
"""

from __future__ import annotations

from dataclasses import field
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel import cost
from scheduler_core.cel.cost.arguments import Argument, CallCost
from scheduler_core.cel.cost.calls import call_cost
from scheduler_core.cel.cost.knowledge import Entries, Knowledge, SizedVariable
from scheduler_core.cel.cost.ranges import EMPTY, NOTHING, ONE, Range, exactly
from scheduler_core.cel.tree import (
    FREE,
    Call,
    Fold,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
    Presence,
    Select,
    is_bind,
)

_WITH_FIELDS: Final = ("map", FREE.name)


def estimate(node: Node) -> Range:
    """Return the least and the most that an expression costs."""
    return _Estimator().cost(node)


@dataclass(slots=True)
class _Estimator:
    """One estimate."""

    known: Knowledge = field(default_factory=Knowledge)

    def cost(self, node: Node) -> Range:
        match node:
            case Literal():
                return NOTHING
            case Name():
                self.known.paths[id(node)] = self.known.path_of(node) or (node.name,)
                return ONE
            case Presence():
                return self.cost(node.operand)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Fold():
                return self._bind(node) if is_bind(node) else self._fold(node)

    def _select(self, node: Select) -> Range:
        total = self.cost(node.operand)
        self.known.paths[id(node)] = (*self.known.path_of(node.operand), node.field)
        type_ = node.operand.type.name
        has_fields = type_ in _WITH_FIELDS or "." in type_
        return total + ONE if has_fields else total

    def _list(self, node: ListOf) -> Range:
        total, values = exactly(cost.LIST), EMPTY if node.elements else Range(0, 0)
        for element in node.elements:
            total += self.cost(element)
            values |= self.known.size_or_unknown(element)
        self.known.entries[id(node)] = Entries(True, ONE, values)
        return total

    def _map(self, node: MapOf) -> Range:
        total = exactly(cost.MAP)
        keys = values = EMPTY if node.entries else Range(0, 0)
        for entry in node.entries:
            total += self.cost(entry.key)
            total += self.cost(entry.value)
            keys |= self.known.size_or_unknown(entry.key)
            values |= self.known.size_or_unknown(entry.value)
        self.known.entries[id(node)] = Entries(False, keys, values)
        return total

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            (argument,) = node.arguments
            total = ONE + self.cost(argument)
            self.known.copy(node, argument)
            return total
        costs = [self.cost(argument) for argument in node.arguments]
        if not node.overloads:
            return NOTHING
        known = [self._argument(argument) for argument in node.arguments]
        called, size = EMPTY, None
        for overload in node.overloads:
            found = self._overload(node, overload, known, costs)
            called |= found.cost
            if found.size is not None:
                size = found.size if size is None else size | found.size
            size = self._indexed(node, overload, size)
            if size is None:
                size = self.known.size_of(node)
        if size is not None:
            self.known.sizes[id(node)] = size
        return (costs[0] + called) if node.is_member else called

    def _overload(self, node: Call, overload: str, known: list[Argument], costs: list[Range]) -> CallCost:
        """Return the cost of one overload with its arguments; the receiver of a member is not in it."""
        paid = costs[1:] if node.is_member else costs
        match overload:
            case "logical_or" | "logical_and":
                return CallCost(Range(costs[0].low, (costs[0] + costs[1]).high))
            case "conditional":
                self.known.join_entries(node, node.arguments[1], node.arguments[2])
                size = self.known.size_or_unknown(node.arguments[1]) | self.known.size_or_unknown(
                    node.arguments[2]
                )
                return CallCost(costs[0] + (costs[1] | costs[2]), size)
            case "add_string" | "add_bytes" | "add_list":
                self.known.join_entries(node, *node.arguments)
            case _:
                pass
        found = call_cost(node, overload, known)
        for part in paid:
            found = CallCost(found.cost + part, found.size)
        return found

    def _indexed(self, node: Call, overload: str, size: Range | None) -> Range | None:
        """Follow the path into a list or map."""
        if overload not in ("index_list", "index_map"):
            return size
        container = node.arguments[0]
        inside = "@items" if overload == "index_list" else "@values"
        self.known.paths[id(node)] = (*self.known.path_of(container), inside)
        entries = self.known.entries_of(container)
        return None if entries is None else entries.value

    def _bind(self, node: Fold) -> Range:
        total = self.cost(node.range) + self.cost(node.initial)
        self.known.push(node.accumulator, self.known.variable(node.initial))
        total += self.cost(node.result)
        self.known.copy(node, node.result)  # while the variable can still be seen
        self.known.pop(node.accumulator)
        return total

    def _fold(self, node: Fold) -> Range:
        total = self.cost(node.range) + self.cost(node.initial)
        self.known.push(node.accumulator, self.known.variable(node.initial))
        variables = self._loop_variables(node)
        for name, variable in variables:
            self.known.push(name, variable)
        per_item = self.cost(node.condition) + self.cost(node.step)
        for name, _ in variables:
            self.known.pop(name)
        total += self.cost(node.result)
        self.known.pop(node.accumulator)
        count = self.known.size_or_unknown(node.range)
        self._result_size(node, count)
        return total + count * per_item

    def _result_size(self, node: Fold, count: Range) -> None:
        match node.initial:
            case Literal():
                size = self.known.size_of(node.initial)
                if size is not None:
                    self.known.sizes[id(node)] = size
            case ListOf() | MapOf():
                self.known.sizes[id(node)] = count
                entries = self.known.entries_of(node.step)
                if entries is not None:
                    self.known.entries[id(node)] = entries
            case _:
                pass

    def _loop_variables(self, node: Fold) -> list[tuple[str, SizedVariable]]:
        entries, path = self.known.entries_of(node.range), self.known.path_of(node.range)
        is_list = entries.is_list if entries is not None else node.range.type.name == "list"
        key = SizedVariable((*path, "@indices" if is_list else "@keys"), entries.key if entries else None)
        value = SizedVariable((*path, "@items" if is_list else "@values"), entries.value if entries else None)
        if node.second:
            return [(node.first, key), (node.second, value)]
        return [(node.first, value if is_list else key)]

    def _argument(self, node: Node) -> Argument:
        return Argument(node, self.known.size_of(node), self.known.path_of(node))
