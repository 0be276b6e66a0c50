"""Constraints of a claim as objects with one protocol: may this device join, join, leave.

They are monotonic: once a device is refused it stays refused until another one leaves, so the search
may prune on them. Rules S13 and S13b of docs/semantics.md.
"""

from __future__ import annotations

from typing import Protocol

from scheduler_core.model.claim import Constraint, DistinctAttribute, MatchAttribute
from scheduler_core.model.device import AttributeValue, Device, QualifiedName

_Typed = tuple[type, AttributeValue]


class Rule(Protocol):
    """A constraint at work."""

    def admits(self, device: Device) -> bool:
        """Whether the device may join those that have joined."""
        ...

    def add(self, device: Device) -> None:
        """Let a device join that is admitted."""
        ...

    def remove(self, device: Device) -> None:
        """Let a device leave that has joined."""
        ...


class Match:
    """All have the attribute, with one type and value."""

    def __init__(self, attribute: QualifiedName) -> None:
        self._attribute = attribute
        self._values: list[_Typed] = []

    def admits(self, device: Device) -> bool:
        """Whether the device has the common value."""
        value = _typed(device, self._attribute)
        return value is not None and (not self._values or self._values[0] == value)

    def add(self, device: Device) -> None:
        """Let the device join."""
        value = _typed(device, self._attribute)
        assert value is not None
        self._values.append(value)

    def remove(self, device: Device) -> None:
        """Let the device leave."""
        value = _typed(device, self._attribute)
        assert value is not None
        self._values.remove(value)


class Distinct:
    """All have the attribute, and no two the same value."""

    def __init__(self, attribute: QualifiedName) -> None:
        self._attribute = attribute
        self._values: set[_Typed] = set()

    def admits(self, device: Device) -> bool:
        """Whether the device has a value that nobody has."""
        value = _typed(device, self._attribute)
        return value is not None and value not in self._values

    def add(self, device: Device) -> None:
        """Let the device join."""
        value = _typed(device, self._attribute)
        assert value is not None
        self._values.add(value)

    def remove(self, device: Device) -> None:
        """Let the device leave."""
        value = _typed(device, self._attribute)
        assert value is not None
        self._values.remove(value)


def rule_of(constraint: Constraint) -> Rule:
    """Return a fresh rule for the constraint."""
    match constraint:
        case MatchAttribute(attribute=attribute):
            return Match(attribute)
        case DistinctAttribute(attribute=attribute):
            return Distinct(attribute)


def applies(constraint: Constraint, request: str) -> bool:
    """Whether the constraint binds devices of ``request`` (``request/alternative`` counts for both)."""
    parent = request.partition("/")[0]
    return not constraint.requests or request in constraint.requests or parent in constraint.requests


def _typed(device: Device, attribute: QualifiedName) -> _Typed | None:
    """Return the value with its type: True is not 1 here."""
    value = device.attributes.get(attribute)
    return None if value is None else (type(value), value)
