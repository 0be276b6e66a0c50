"""What an estimate knows of each node: which part of the device it reads, and how large its value can be."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.cost.device_sizes import Path, size_at
from scheduler_core.cel.cost.ranges import ONE, UNKNOWN, Range, exactly
from scheduler_core.cel.tree import CelType, ListOf, Literal, MapOf, Name, Node

_SCALARS: Final = frozenset(
    {"bool", "double", "int", "uint", "google.protobuf.Timestamp", "google.protobuf.Duration"}
)


@dataclass(frozen=True, slots=True)
class Entries:
    """The sizes of what is in a list or map. Shape: ``key`` of a list is 1."""

    is_list: bool
    key: Range
    value: Range

    def union(self, other: Entries) -> Entries:
        """Return sizes that hold for both."""
        return Entries(self.is_list, self.key | other.key, self.value | other.value)


@dataclass(frozen=True, slots=True)
class SizedVariable:
    """A loop variable: where it comes from and what is known of its size."""

    path: Path = ()
    size: Range | None = None
    entries: Entries | None = None


@dataclass(slots=True)
class Knowledge:
    """What is known of nodes, by their identity, and of the variables in scope, innermost last."""

    paths: dict[int, Path] = field(default_factory=dict)
    sizes: dict[int, Range] = field(default_factory=dict)
    entries: dict[int, Entries] = field(default_factory=dict)
    variables: dict[str, list[SizedVariable]] = field(default_factory=dict)

    def push(self, name: str, variable: SizedVariable) -> None:
        """Add a variable to the scope."""
        self.variables.setdefault(name, []).append(variable)

    def pop(self, name: str) -> None:
        """Remove the innermost variable of a name from the scope."""
        self.variables[name].pop()

    def _seen(self, node: Node) -> SizedVariable | None:
        stack = self.variables.get(node.name) if isinstance(node, Name) else None
        return stack[-1] if stack else None

    def copy(self, target: Node, source: Node) -> None:
        """Give a node the sizes of another."""
        size, entries = self.size_of(source), self.entries_of(source)
        if size is not None:
            self.sizes[id(target)] = size
        if entries is not None:
            self.entries[id(target)] = entries

    def path_of(self, node: Node) -> Path:
        """Return where in the device a value comes from, empty where it does not."""
        variable = self._seen(node)
        return variable.path if variable is not None else self.paths.get(id(node), ())

    def entries_of(self, node: Node) -> Entries | None:
        """Return the sizes of what is in a list or map."""
        known = self.entries.get(id(node))
        variable = self._seen(node)
        return variable.entries if known is None and variable is not None else known

    def size_of(self, node: Node) -> Range | None:
        """Return the size of a value: learned, literal, by its place in the device, by its type."""
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
        """Return the size of a value, unlimited where nothing is known."""
        size = self.size_of(node)
        return UNKNOWN if size is None else size

    def join_entries(self, node: Node, left: Node, right: Node) -> None:
        """Note that a node has the elements of one of two others, or of both."""
        first, second = self.entries_of(left), self.entries_of(right)
        if first is not None and second is not None:
            self.entries[id(node)] = first.union(second)

    def variable(self, node: Node) -> SizedVariable:
        """Return a variable that stands for a node."""
        return SizedVariable(self.path_of(node), self.size_of(node), self.entries_of(node))


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
