"""What a node weighs: the work of one run, as far as it does not depend on values.

Units: units of work. Where the values decide, the function counts while it runs.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.cel.library.operators import OPERATORS
from scheduler_core.cel.tree import Call
from scheduler_core.cel.work import ELEMENT, ENTRY

_TEXT: Final = 4  # bits: sixteen characters of a literal are read for one unit
_OPERATOR: Final = 1
_FUNCTION: Final = 8
_OVERLOAD: Final = 4  # to try one more overload
_LIST: Final = 24
_MAP: Final = 64
ERROR: Final = 16
"""An error that something absorbs."""
_FUNCTIONS: Final = {
    **dict.fromkeys(("format", "semver", "isSemver", "int", "double", "uint", "string", "quantity"), 40),
    **dict.fromkeys(("duration", "timestamp", "ip", "cidr", "isIP", "isCIDR", "matches", "find"), 80),
    **dict.fromkeys(("url", "isURL", "getQuery", "ip.isCanonical", "findAll", "validate"), 120),
    **dict.fromkeys(("getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate"), 40),
    **dict.fromkeys(("getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds"), 40),
}
"""Functions that take Python longer than most."""


def literal_weight(value: Any) -> int:
    """Return what a constant weighs: a text by its length, because a comparison reads it."""
    return 1 + (len(value) >> _TEXT) if isinstance(value, str | bytes) else 1


def list_weight(elements: int) -> int:
    """Return what the making of a list weighs."""
    return _LIST + elements * ELEMENT


def map_weight(entries: int) -> int:
    """Return what the making of a map weighs."""
    return _MAP + entries * ENTRY


def call_weight(node: Call) -> int:
    """Return what a call weighs, without its arguments."""
    if node.function in OPERATORS:
        return _OPERATOR
    return _FUNCTIONS.get(node.function, _FUNCTION) + _OVERLOAD * len(node.overloads)
