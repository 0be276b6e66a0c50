"""Which values of a device an expression reads, where the text alone determines it.

Two devices with the same values there get the same answer, so a caller may compute it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.tree import (
    Call,
    Fold,
    ListOf,
    Literal,
    Name,
    Node,
    Presence,
    Select,
    children,
    is_bind,
)

Read = tuple[str, str, str]
"""("attributes" or "capacity", domain, identifier), or the name of another field and two empty strings."""
_Path = tuple[str, ...]
_DEVICE: Final = "device"
_MAPS: Final = ("attributes", "capacity")
_ACCESS: Final = ("_[_]", "_?._", "_[?_]")


class _Dynamic(Exception):
    """The expression computes the key of what it reads."""


def reads_of(node: Node) -> frozenset[Read] | None:
    """Return everything that an expression can read; None where a key, or the set of keys, is computed."""
    reader = _ReadCollector()
    try:
        reader.value(node, {})
    except _Dynamic:
        return None
    return frozenset(reader.found)


def demanded(node: Node, read: Read) -> frozenset[str] | None:
    """Return the texts that the value may have where the expression is true; None where it may have any.

    Only comparisons with literals, joined by ``&&`` and ``||``, limit the value.
    """
    match node:
        case Call(function="_&&_", arguments=parts):
            found = [one for one in (demanded(part, read) for part in parts) if one is not None]
            return frozenset.intersection(*found) if found else None
        case Call(function="_||_", arguments=parts):
            sides = [demanded(part, read) for part in parts]
            known = [one for one in sides if one is not None]
            return frozenset.union(*known) if len(known) == len(sides) else None
        case (
            Call(function="_==_", arguments=(Literal(value=str() as text), value))
            | Call(function="_==_", arguments=(value, Literal(value=str() as text)))
        ):
            return frozenset((text,)) if _reads(value, read) else None
        case Call(function="@in", arguments=(value, ListOf(elements=elements))):
            texts = [one.value for one in elements if isinstance(one, Literal) and isinstance(one.value, str)]
            is_known = len(texts) == len(elements) and _reads(value, read)
            return frozenset(texts) if is_known else None
        case _:
            return None


def compared(node: Node, read: Read) -> tuple[str | int, ...]:
    """Return the texts and numbers that the value is asked to equal, in the order of the expression.

    A comparison counts wherever ``&&`` and ``||`` lead to it; below ``!`` and in calls none does.
    """
    match node:
        case Call(function="_&&_" | "_||_", arguments=parts):
            return tuple(dict.fromkeys(one for part in parts for one in compared(part, read)))
        case (
            Call(function="_==_", arguments=(Literal(value=str() | int() as wanted), value))
            | Call(function="_==_", arguments=(value, Literal(value=str() | int() as wanted)))
        ):
            return (wanted,) if not isinstance(wanted, bool) and _reads(value, read) else ()
        case Call(function="@in", arguments=(value, ListOf(elements=elements))) if _reads(value, read):
            found = (one.value for one in elements if isinstance(one, Literal))
            return tuple(one for one in found if isinstance(one, str | int) and not isinstance(one, bool))
        case _:
            return ()


def _reads(node: Node, read: Read) -> bool:
    path = _ReadCollector().path(node, {})
    return path == (_DEVICE, *(part for part in read if part))


@dataclass(slots=True)
class _ReadCollector:
    """Collects reads. ``names`` maps each variable to the path in the device that it stands for."""

    found: set[Read] = field(default_factory=set)

    def value(self, node: Node, names: Mapping[str, _Path]) -> None:
        """Visit a node whose value is used as it is."""
        path = self.path(node, names)
        if path is not None:
            self._take(path)
        elif isinstance(node, Fold):
            self._fold(node, names)
        else:
            for child in children(node):
                self.value(child, names)

    def _take(self, path: _Path) -> None:
        """Record that the value at ``path`` is read. Raises: _Dynamic for a path to a whole map."""
        match path:
            case (_,):
                raise _Dynamic
            case (_, name) if name not in _MAPS:
                self.found.add((name, "", ""))
            case (_, name, domain, identifier, *_):
                self.found.add((name, domain, identifier))
            case _:
                raise _Dynamic

    def path(self, node: Node, names: Mapping[str, _Path]) -> _Path | None:
        """Return where in the device a node points, None where it is another value."""
        match node:
            case Name(name=name):
                return names.get(name, (_DEVICE,) if name == _DEVICE else None) or None
            case Select(operand=operand, field=key) | Presence(operand=operand, field=key):
                return self._inside(operand, key, names)
            case Call(function=function, arguments=(operand, Literal(value=str() as key))):
                return self._inside(operand, key, names) if function in _ACCESS else None
            case Call(function="@in", arguments=(Literal(value=str() as key), operand)):
                path = self.path(operand, names)
                return (*path, key) if path is not None and len(path) == 3 else None
            case _:
                return None

    def _inside(self, operand: Node, key: str, names: Mapping[str, _Path]) -> _Path | None:
        path = self.path(operand, names)
        return None if path is None else (*path, key)

    def _fold(self, node: Fold, names: Mapping[str, _Path]) -> None:
        if is_bind(node):
            path = self.path(node.initial, names)
            if path is None:
                self.value(node.initial, names)
            self.value(node.result, {**names, node.accumulator: path or ()})
            return
        self.value(node.range, names)
        self.value(node.initial, names)
        hidden = {name: () for name in (node.first, node.second, node.accumulator)}
        for child in (node.condition, node.step, node.result):
            self.value(child, {**names, **hidden})
