"""What an expression says of one driver: what it reads of its devices, and the same of another driver.

A text is rewritten string by string, so that its form stays; the syntax trees of both texts say whether
exactly the names of the driver were changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from scheduler_core.cel.errors import CompileError
from scheduler_core.cel.parse.frontend import check
from scheduler_core.cel.parse.text import STRING
from scheduler_core.cel.tree import Call, Fold, ListOf, Literal, MapOf, Name, Node, Presence, Select, children

_TOKEN: Final = re.compile(STRING, re.DOTALL)
_ACCESS: Final = ("_[_]", "_[?_]")
_COMPARISONS: Final = ("_==_", "_!=_")
_MEMBERS: Final = ("_[_]", "_[?_]", "_?._")
_DOMAINS: Final = ("attributes", "capacity")
DriverRead = tuple[str, str]
"""("attributes" or "capacity", identifier)."""


def with_driver(text: str, old: str, new: str) -> str | None:
    """Return the expression that means of driver ``new`` what ``text`` means of ``old``; None for no such.

    There is none where a string with the name ``old`` is used for anything else, or is put together.

    Raises: CompileError for a text that is no expression.
    """
    before = check(text)
    quoted = {f"{quote}{old}{quote}": f"{quote}{new}{quote}" for quote in ("'", '"')}
    changed = _TOKEN.sub(lambda match: quoted.get(match[0], match[0]), text)
    wanted = _renamed(before, old, new)
    try:
        return changed if check(changed) == wanted and not _mentions(wanted, old) else None
    except CompileError:  # a longer name can make it longer than expressions may be
        return None


def driver_reads(node: Node, driver: str) -> frozenset[DriverRead] | None:
    """Return which attributes and capacities of a driver an expression names; None where it computes them."""
    found: set[DriverRead] = set()
    return frozenset(found) if _collect(node, driver, found) else None


def _collect(node: Node, driver: str, found: set[DriverRead]) -> bool:
    """Collect what a node names of a driver. Return whether that is all it can read of it."""
    match node:
        case (
            Select(operand=operand, field=field)
            | Presence(operand=operand, field=field)
            | Call(function="@in", arguments=(Literal(value=str() as field), operand))
        ) if (kind := _domain(operand, driver)) is not None:
            found.add((kind, field))
            return True
        case Call(function=function, arguments=(operand, Literal(value=str() as field))) if (
            function in _MEMBERS and (kind := _domain(operand, driver)) is not None
        ):
            found.add((kind, field))
            return True
        case _:
            return _domain(node, driver) is None and all(
                _collect(child, driver, found) for child in children(node)
            )


def _domain(node: Node, driver: str) -> str | None:
    """Return which of the device's maps a node has the driver's part of; None for any other node."""
    match node:
        case Call(function=function, arguments=(Select(field=kind) as operand, Literal(value=value))) if (
            value == driver and function in _ACCESS and _is_field(operand, *_DOMAINS)
        ):
            return kind
        case _:
            return None


def _renamed(node: Node, old: str, new: str) -> Node:
    """Return the tree with the driver's name changed wherever it is certain that it is the driver's."""
    match node:
        case Call(function=function, arguments=(operand, Literal(value=value) as key)) if (
            value == old and function in _ACCESS and _is_field(operand, *_DOMAINS)
        ):
            return replace(node, arguments=(operand, replace(key, value=new)))
        case Call(function="@in", arguments=(Literal(value=value) as key, operand)) if (
            value == old and _is_field(operand, *_DOMAINS)
        ):
            return replace(node, arguments=(replace(key, value=new), operand))
        case Call(function="@in", arguments=(operand, ListOf(elements=elements) as names)) if _is_field(
            operand, "driver"
        ):
            found = tuple(_named(one, old, new) for one in elements)
            return replace(node, arguments=(operand, replace(names, elements=found)))
        case Call(function=function, arguments=(left, right)) if function in _COMPARISONS and (
            _is_field(left, "driver") or _is_field(right, "driver")
        ):
            return replace(node, arguments=(_named(left, old, new), _named(right, old, new)))
        case _:
            return _below(node, partial(_renamed, old=old, new=new))


def _named(node: Node, old: str, new: str) -> Node:
    return replace(node, value=new) if isinstance(node, Literal) and node.value == old else node


def _is_field(node: Node, *fields: str) -> bool:
    return (
        isinstance(node, Select)
        and isinstance(node.operand, Name)
        and node.operand.name == "device"
        and node.field in fields
    )


def _mentions(node: Node, text: str) -> bool:
    """Whether a string of the tree has the text in it."""
    if isinstance(node, Literal):
        return isinstance(node.value, str) and text in node.value
    return any(_mentions(child, text) for child in children(node))


def _below(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return a node with each node directly below it changed."""
    match node:
        case Literal() | Name():
            return node
        case Select() | Presence():
            return replace(node, operand=change(node.operand))
        case Call():
            return replace(node, arguments=tuple(map(change, node.arguments)))
        case ListOf():
            return replace(node, elements=tuple(map(change, node.elements)))
        case MapOf():
            return replace(
                node,
                entries=tuple(
                    replace(one, key=change(one.key), value=change(one.value)) for one in node.entries
                ),
            )
        case Fold():
            return replace(
                node,
                range=change(node.range),
                initial=change(node.initial),
                condition=change(node.condition),
                step=change(node.step),
                result=change(node.result),
            )
