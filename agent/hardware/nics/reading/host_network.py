"""Finds the interfaces that the node itself needs: those with its default route, and all below them.

A default route may go through a VLAN on a bond of two ports; giving away either port would cut the node off.
Source of ``lower_*`` links: Linux, netdev adjacency in sysfs; of ``parent``: IP over InfiniBand's children.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agent.hardware import attributes

_IPV4: Final = "proc/net/route"
_IPV6: Final = "proc/net/ipv6_route"
_UP_ROUTE: Final = 0x1
_REJECT: Final = 0x200
_LOWER: Final = "lower_"


def needed_interfaces(root: Path) -> Mapping[str, tuple[str, ...]]:
    """Return, by name, every interface that a default route needs.

    Shape: the value is the way up, from the interface to the one with the default route.
    """
    found: dict[str, tuple[str, ...]] = {}
    left: list[tuple[str, ...]] = [(name,) for name in (*_default_ipv4(root), *_default_ipv6(root))]
    while left:
        way = left.pop(0)
        if way[0] not in found:
            found[way[0]] = way
            left.extend((below, *way) for below in _below(root / "sys/class/net" / way[0]))
    return found


def _below(interface: Path) -> tuple[str, ...]:
    lower = (name.removeprefix(_LOWER) for name in attributes.names(interface) if name.startswith(_LOWER))
    parent = attributes.text(interface / "parent")
    members = attributes.names(interface / "brif")
    return (*lower, *members, *((parent,) if parent else ()))


def _default_ipv4(root: Path) -> tuple[str, ...]:
    lines = (attributes.text(root / _IPV4) or "").splitlines()[1:]
    rows = (line.split() for line in lines)
    return tuple(row[0] for row in rows if len(row) > 7 and _hex(row[1]) == _hex(row[7]) == 0)


def _default_ipv6(root: Path) -> tuple[str, ...]:
    rows = (line.split() for line in (attributes.text(root / _IPV6) or "").splitlines())
    return tuple(row[9] for row in rows if len(row) > 9 and row[1] == "00" and _is_used(_hex(row[8])))


def _hex(text: str) -> int | None:
    try:
        return int(text, 16)
    except ValueError:
        return None


def _is_used(flags: int | None) -> bool:
    return flags is not None and bool(flags & _UP_ROUTE) and not flags & _REJECT
