"""The largest sizes of the parts of a device. Source: limits of resource.k8s.io/v1 ResourceSlice."""

from __future__ import annotations

from typing import Final

from scheduler_core.base.limits import DOMAIN_LENGTH, IDENTIFIER_LENGTH, PROPERTIES, VALUE_LENGTH
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.cost.ranges import Range

_DRIVER_LENGTH: Final = 63
Path = tuple[str, ...]
"""From the variable on: names of fields, ``@items`` of a list, ``@keys`` and ``@values`` of a map."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a device: the most elements or characters it has, and what is in it."""

    most: int = 0
    keys: _Part | None = None
    values: _Part | None = None


_DOMAIN: Final = _Part(DOMAIN_LENGTH)
_IDENTIFIER: Final = _Part(IDENTIFIER_LENGTH)
_ATTRIBUTE: Final = _Part(VALUE_LENGTH)
_FIELDS: Final = {
    "driver": _Part(_DRIVER_LENGTH),
    "allowMultipleAllocations": _Part(1),
    "attributes": _Part(PROPERTIES, _DOMAIN, _Part(PROPERTIES, _IDENTIFIER, _ATTRIBUTE)),
    "capacity": _Part(PROPERTIES, _DOMAIN, _Part(PROPERTIES, _IDENTIFIER, _Part())),
}


def size_at(path: Path) -> Range | None:
    """Return how large the value at a path can be, None where that is not known."""
    if not path or path[0] != "device":
        return None
    if len(path) == 1:
        return Range(0, 0)
    part = _FIELDS.get(path[1])
    for name in path[2:]:
        part = None if part is None else _inside(part, name)
    return None if part is None else Range(0, part.most)


def _inside(part: _Part, name: str) -> _Part | None:
    match name:
        case "@items" | "@values":
            return part.values
        case "@keys":
            return part.keys
        case _:
            return part.values if part.values is _ATTRIBUTE else None
