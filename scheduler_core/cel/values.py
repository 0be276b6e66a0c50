"""The Python types of CEL values.

bool, int, float, str, bytes, None, list and dict represent the CEL types of those names (a list or dict is
never changed once another value refers to it; ``map_key`` makes the keys of a dict); quantities and versions
are those of the core. The other types are defined here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import total_ordering
from typing import Any, Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.base.version import Version

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


class Uint(int):
    """An unsigned integer; equal to an int of the same amount, but of another type."""

    __slots__ = ()


class Domains(dict[str, dict[str, Any]]):
    """Values by domain. An unknown domain reads as an empty map, but is not a member. Source: Kubernetes."""

    __slots__ = ()

    def __missing__(self, key: object) -> dict[str, Any]:
        return {}


INDEXES: Final = frozenset({bool, int, Uint, float, str})
"""The types by which something may be indexed."""


def map_key(value: Any) -> Any:
    """Return what a dict holds for a key of a map.

    Python takes 1, True and 1u for one key, CEL for three: all but texts and ints are held with their type.
    """
    kind = type(value)
    return value if kind is str or kind is int else (kind, value)


def key_value(held: Any) -> Any:
    """Return the key for which a dict holds this."""
    return held[1] if type(held) is tuple else held


@dataclass(frozen=True, slots=True)
class Option:
    """An optional of CEL: a value, or none (``is_present`` is False and ``value`` None)."""

    is_present: bool
    value: Any = None


NONE: Final = Option(False)


def some(value: Any) -> Option:
    """Return an optional that holds ``value``."""
    return Option(True, value)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value, as ``type(x)`` and names such as ``int`` give it."""

    name: str


@total_ordering
@dataclass(frozen=True, slots=True)
class Duration:
    """A signed time span. Units: nanoseconds."""

    nanoseconds: int

    def __lt__(self, other: Duration) -> bool:
        return self.nanoseconds < other.nanoseconds


@total_ordering
@dataclass(frozen=True, slots=True)
class Timestamp:
    """A point in time.

    Units: nanoseconds since 1970-01-01T00:00:00Z; ``offset`` in seconds, as the time was written.
    """

    nanoseconds: int
    offset: int = field(default=0, compare=False)

    def __lt__(self, other: Timestamp) -> bool:
        return self.nanoseconds < other.nanoseconds


KEYS: Final = frozenset({*INDEXES, type(None), TypeValue, Duration, Timestamp})
"""The types that a key of a map may have."""
TYPE_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Domains: "map",
    Option: "optional_type",
    TypeValue: "type",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Quantity: "kubernetes.Quantity",
    Version: "kubernetes.Semver",
}
"""The CEL type of each Python type; libraries with types of their own add them."""


def type_name(value: object) -> str:
    """Return the name of a value's CEL type."""
    return TYPE_NAMES.get(type(value), type(value).__name__)


def python_types(name: str) -> Iterator[type]:
    """Yield the Python types that represent the CEL type ``name``."""
    return (python for python, cel in TYPE_NAMES.items() if cel == name)
