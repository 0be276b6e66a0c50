"""The names that the two dialects spell differently, as one table for both directions.

A dimension has a composite name (``copy-engines``, ``memorySlice0``), a v1 capacity name (``copyEngines``)
and a v1 counter name (``memory-slice-0``). A device has a composite name and a DNS label. Two names with
the same spelling are refused, and so are names that cannot be turned back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import DeviceName, QualifiedName
from scheduler_core.model.names import (
    capacity_spelling,
    counter_spelling,
    domain_and_identifier,
    is_identifier,
    is_label,
    label_spelling,
)

_Name = TypeVar("_Name", QualifiedName, DeviceName)


@dataclass(frozen=True, slots=True)
class Spelling:
    """The v1 names of a dimension. Shape: ``capacity`` is qualified, ``counter`` a label."""

    capacity: QualifiedName
    counter: str


@dataclass(frozen=True, slots=True)
class SpellingTable:
    """The names of one pool. Shape: both maps are one-to-one unless ``problems`` has entries."""

    dimensions: dict[QualifiedName, Spelling]
    devices: dict[DeviceName, DeviceName]
    problems: tuple[str, ...] = ()

    def dimension_of_counter(self, counter: str) -> QualifiedName:
        """Return the composite name of a counter. Raises: KeyError."""
        return {spelling.counter: name for name, spelling in self.dimensions.items()}[counter]

    def dimension_of_capacity(self, capacity: QualifiedName) -> QualifiedName:
        """Return the composite name of a v1 capacity. Raises: KeyError."""
        return {spelling.capacity: name for name, spelling in self.dimensions.items()}[capacity]

    def device_of_label(self, label: DeviceName) -> DeviceName:
        """Return the composite name of a v1 device. Raises: KeyError."""
        return {new: old for old, new in self.devices.items()}[label]


def table(dimensions: Iterable[QualifiedName], devices: Iterable[DeviceName]) -> SpellingTable:
    """Spell every name of a pool in v1."""
    problems: list[str] = []
    spelled = {name: _spelling(name, problems) for name in sorted(set(dimensions))}
    labels = {name: DeviceName(label_spelling(name)) for name in devices}
    problems += [
        f"device {old!r} has no DNS label: {new!r}" for old, new in labels.items() if not is_label(new)
    ]
    problems += _collisions("dimensions", {name: spelling.capacity for name, spelling in spelled.items()})
    problems += _collisions("dimensions", {name: spelling.counter for name, spelling in spelled.items()})
    problems += _collisions("devices", labels)
    return SpellingTable(spelled, labels, tuple(dict.fromkeys(problems)))


def _spelling(name: QualifiedName, problems: list[str]) -> Spelling:
    domain, identifier = domain_and_identifier(name)
    capacity, counter = capacity_spelling(identifier), counter_spelling(identifier)
    is_reversible = capacity_spelling(counter) == capacity and counter_spelling(capacity) == counter
    if not (is_reversible and is_identifier(capacity, allows_dashes=False) and is_label(counter)):
        problems.append(f"dimension {identifier!r} has no reversible v1 names: {capacity!r}, {counter!r}")
    return Spelling(QualifiedName(f"{domain}/{capacity}"), counter)


def _collisions(what: str, spelled: Mapping[_Name, str]) -> list[str]:
    """Return a sentence for every two names with the same v1 name."""
    first: dict[str, str] = {}
    problems = []
    for old, new in spelled.items():
        if new in first:
            problems.append(f"{what} {first[new]!r} and {old!r} would both be {new!r}")
        first.setdefault(new, old)
    return problems
