"""Constraints of a claim as objects with one protocol: may this device join, join, leave.

They are monotonic: once a device is refused it stays refused until another one leaves, so the search
may prune on them. Devices leave in the reverse order of joining. Rules S13 and S13b of docs/semantics.md.
"""

from __future__ import annotations

from typing import Protocol

from scheduler_core.base.features import ALL, Features
from scheduler_core.model.claim import Constraint, DistinctAttribute, MatchAttribute
from scheduler_core.model.device import Device, QualifiedName, Scalar

_Typed = tuple[type, Scalar]


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
    """All have the attribute with a common value of one type; a scalar is a list of one."""

    def __init__(self, attribute: QualifiedName, *, lists: bool = True) -> None:
        self._attribute = attribute
        self._lists = lists
        self._common: list[frozenset[_Typed]] = []

    def admits(self, device: Device) -> bool:
        """Whether a value is left that all would have."""
        values = _values(device, self._attribute, self._lists)
        return bool(values & self._common[-1] if self._common else values)

    def add(self, device: Device) -> None:
        """Let the device join; what was common before is kept, so that it can leave again."""
        values = _values(device, self._attribute, self._lists)
        self._common.append(values & self._common[-1] if self._common else values)

    def remove(self, device: Device) -> None:  # noqa: ARG002 - devices leave in the reverse order of joining
        """Let the last device leave."""
        self._common.pop()


class Distinct:
    """All have the attribute, and no two a value in common."""

    def __init__(self, attribute: QualifiedName, *, lists: bool = True) -> None:
        self._attribute = attribute
        self._lists = lists
        self._taken: set[_Typed] = set()

    def admits(self, device: Device) -> bool:
        """Whether the device has values, and nobody has any of them."""
        values = _values(device, self._attribute, self._lists)
        return bool(values) and not values & self._taken

    def add(self, device: Device) -> None:
        """Let the device join."""
        self._taken |= _values(device, self._attribute, self._lists)

    def remove(self, device: Device) -> None:
        """Let the device leave."""
        self._taken -= _values(device, self._attribute, self._lists)


def rule_of(constraint: MatchAttribute | DistinctAttribute, features: Features = ALL) -> Rule:
    """Return a fresh rule for the constraint. Without list attributes a list is no value."""
    lists = features.DRAListTypeAttributes
    match constraint:
        case MatchAttribute(attribute=attribute):
            return Match(attribute, lists=lists)
        case DistinctAttribute(attribute=attribute):
            return Distinct(attribute, lists=lists)


def applies(constraint: Constraint, request: str) -> bool:
    """Whether the constraint binds devices of ``request`` (``request/alternative`` counts for both)."""
    parent = request.partition("/")[0]
    return not constraint.requests or request in constraint.requests or parent in constraint.requests


def _values(device: Device, attribute: QualifiedName, lists: bool) -> frozenset[_Typed]:
    """Return the values with their types (True is not 1 here); empty where there are none."""
    value = device.attributes.get(attribute)
    if value is None or (isinstance(value, tuple) and not lists):
        return frozenset()
    values = value if isinstance(value, tuple) else (value,)
    return frozenset((type(each), each) for each in values)
