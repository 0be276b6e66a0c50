"""The most that an expression can cost, on any device within the limits of the API.

Upstream's estimate, node by node: what is not known counts as unlimited, so a high estimate does not say
that an expression is expensive, a low one says that it is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from scheduler_core.cel import cost
from scheduler_core.cel.cost.calls import Argument, CallCost, call_cost
from scheduler_core.cel.cost.device_sizes import Path, size_at
from scheduler_core.cel.cost.ranges import EMPTY, NOTHING, ONE, UNKNOWN, Range, exactly
from scheduler_core.cel.tree import (
    FREE,
    Call,
    CelType,
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

_SCALARS: Final = frozenset(
    {"bool", "double", "int", "uint", "google.protobuf.Timestamp", "google.protobuf.Duration"}
)
_WITH_FIELDS: Final = ("map", FREE.name)


def estimate(node: Node) -> Range:
    """Return the least and the most that an expression costs."""
    return _Estimator().cost(node)


@dataclass(frozen=True, slots=True)
class _Entries:
    """The sizes of what is in a list or map. Shape: ``key`` of a list is 1."""

    is_list: bool
    key: Range
    value: Range

    def union(self, other: _Entries) -> _Entries:
        return _Entries(self.is_list, self.key | other.key, self.value | other.value)


@dataclass(frozen=True, slots=True)
class _Variable:
    """A loop variable: where it comes from and what is known of its size."""

    path: Path = ()
    size: Range | None = None
    entries: _Entries | None = None


@dataclass(slots=True)
class _Estimator:
    """One estimate. What is learned of a node is kept by its identity."""

    paths: dict[int, Path] = field(default_factory=dict)
    sizes: dict[int, Range] = field(default_factory=dict)
    entries: dict[int, _Entries] = field(default_factory=dict)
    variables: dict[str, list[_Variable]] = field(default_factory=dict)

    def cost(self, node: Node) -> Range:
        match node:
            case Literal():
                return NOTHING
            case Name():
                self.paths[id(node)] = self.path_of(node) or (node.name,)
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
        self.paths[id(node)] = (*self.path_of(node.operand), node.field)
        type_ = node.operand.type.name
        has_fields = type_ in _WITH_FIELDS or "." in type_
        return total + ONE if has_fields else total

    def _list(self, node: ListOf) -> Range:
        total, values = exactly(cost.LIST), EMPTY if node.elements else Range(0, 0)
        for element in node.elements:
            total += self.cost(element)
            values |= self.size_or_unknown(element)
        self.entries[id(node)] = _Entries(True, ONE, values)
        return total

    def _map(self, node: MapOf) -> Range:
        total = exactly(cost.MAP)
        keys = values = EMPTY if node.entries else Range(0, 0)
        for entry in node.entries:
            total += self.cost(entry.key)
            total += self.cost(entry.value)
            keys |= self.size_or_unknown(entry.key)
            values |= self.size_or_unknown(entry.value)
        self.entries[id(node)] = _Entries(False, keys, values)
        return total

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            (argument,) = node.arguments
            total = ONE + self.cost(argument)
            self._copy(node, argument)
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
                size = self.size_of(node)
        if size is not None:
            self.sizes[id(node)] = size
        return (costs[0] + called) if node.is_member else called

    def _overload(self, node: Call, overload: str, known: list[Argument], costs: list[Range]) -> CallCost:
        """Return the cost of one overload with its arguments; the receiver of a member is not in it."""
        paid = costs[1:] if node.is_member else costs
        match overload:
            case "logical_or" | "logical_and":
                return CallCost(Range(costs[0].low, (costs[0] + costs[1]).high))
            case "conditional":
                self._join_entries(node, node.arguments[1], node.arguments[2])
                size = self.size_or_unknown(node.arguments[1]) | self.size_or_unknown(node.arguments[2])
                return CallCost(costs[0] + (costs[1] | costs[2]), size)
            case "add_string" | "add_bytes" | "add_list":
                self._join_entries(node, *node.arguments)
            case _:
                pass
        found = call_cost(node, overload, known)
        for part in paid:
            found = CallCost(found.cost + part, found.size)
        return found

    def _join_entries(self, node: Node, left: Node, right: Node) -> None:
        first, second = self.entries_of(left), self.entries_of(right)
        if first is not None and second is not None:
            self.entries[id(node)] = first.union(second)

    def _indexed(self, node: Call, overload: str, size: Range | None) -> Range | None:
        """Follow the path into a list or map."""
        if overload not in ("index_list", "index_map"):
            return size
        container = node.arguments[0]
        inside = "@items" if overload == "index_list" else "@values"
        self.paths[id(node)] = (*self.path_of(container), inside)
        entries = self.entries_of(container)
        return None if entries is None else entries.value

    def _bind(self, node: Fold) -> Range:
        total = self.cost(node.range) + self.cost(node.initial)
        self._push(node.accumulator, self._local(node.initial))
        total += self.cost(node.result)
        self._copy(node, node.result)  # while the variable can still be seen
        self.variables[node.accumulator].pop()
        return total

    def _fold(self, node: Fold) -> Range:
        total = self.cost(node.range) + self.cost(node.initial)
        self._push(node.accumulator, self._local(node.initial))
        variables = self._loop_variables(node)
        for name, variable in variables:
            self._push(name, variable)
        per_item = self.cost(node.condition) + self.cost(node.step)
        for name, _ in variables:
            self.variables[name].pop()
        total += self.cost(node.result)
        self.variables[node.accumulator].pop()
        count = self.size_or_unknown(node.range)
        self._result_size(node, count)
        return total + count * per_item

    def _result_size(self, node: Fold, count: Range) -> None:
        match node.initial:
            case Literal():
                size = self.size_of(node.initial)
                if size is not None:
                    self.sizes[id(node)] = size
            case ListOf() | MapOf():
                self.sizes[id(node)] = count
                entries = self.entries_of(node.step)
                if entries is not None:
                    self.entries[id(node)] = entries
            case _:
                pass

    def _local(self, node: Node) -> _Variable:
        return _Variable(self.path_of(node), self.size_of(node), self.entries_of(node))

    def _loop_variables(self, node: Fold) -> list[tuple[str, _Variable]]:
        entries, path = self.entries_of(node.range), self.path_of(node.range)
        is_list = entries.is_list if entries is not None else node.range.type.name == "list"
        key = _Variable((*path, "@indices" if is_list else "@keys"), entries.key if entries else None)
        value = _Variable((*path, "@items" if is_list else "@values"), entries.value if entries else None)
        if node.second:
            return [(node.first, key), (node.second, value)]
        return [(node.first, value if is_list else key)]

    def _push(self, name: str, variable: _Variable) -> None:
        self.variables.setdefault(name, []).append(variable)

    def _seen(self, node: Node) -> _Variable | None:
        stack = self.variables.get(node.name) if isinstance(node, Name) else None
        return stack[-1] if stack else None

    def _copy(self, target: Node, source: Node) -> None:
        size, entries = self.size_of(source), self.entries_of(source)
        if size is not None:
            self.sizes[id(target)] = size
        if entries is not None:
            self.entries[id(target)] = entries

    def _argument(self, node: Node) -> Argument:
        return Argument(node, self.size_of(node), self.path_of(node))

    def path_of(self, node: Node) -> Path:
        variable = self._seen(node)
        return variable.path if variable is not None else self.paths.get(id(node), ())

    def entries_of(self, node: Node) -> _Entries | None:
        known = self.entries.get(id(node))
        variable = self._seen(node)
        return variable.entries if known is None and variable is not None else known

    def size_of(self, node: Node) -> Range | None:
        known = self.sizes.get(id(node))
        if known is None:
            known = _literal_size(node)
        if known is None:
            known = size_at(self.path_of(node))
            if known is not None:
                self.sizes[id(node)] = known
        if known is None and _is_scalar(node.type):
            known = ONE
        variable = self._seen(node)
        return variable.size if known is None and variable is not None else known

    def size_or_unknown(self, node: Node) -> Range:
        size = self.size_of(node)
        return UNKNOWN if size is None else size


def _literal_size(node: Node) -> Range | None:
    match node:
        case Literal(value=str() | bytes() as text):
            return exactly(len(text))
        case Literal():
            return ONE
        case ListOf(elements=parts) | MapOf(entries=parts):
            return exactly(len(parts))
        case _:
            return None


def _is_scalar(type_: CelType) -> bool:
    if type_.name == "optional_type":
        return _is_scalar(type_.parameters[0])
    return type_.name in _SCALARS
