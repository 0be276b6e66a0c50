"""The constraints of a claim as objects with one protocol: ``admits``, ``add`` and ``remove`` a device.

They are monotonic: a refused device stays refused until another device is removed, so the search may prune
with them. Devices are removed in the reverse order of adding. Rules S13 and S13b of docs/semantics.md.
"""

from __future__ import annotations

from typing import Protocol

from scheduler_core.base.features import ALL, Features
from scheduler_core.model.claim import Constraint, DistinctAttribute, MatchAttribute
from scheduler_core.model.device import Device, QualifiedName, Scalar

Typed = tuple[type, Scalar]
"""A value with its type."""


class Rule(Protocol):
    """A constraint during a search. It knows the devices that were added."""

    def admits(self, device: Device) -> bool:
        """Whether the device is allowed with the devices that were added."""
        ...

    def add(self, device: Device) -> None:
        """Add a device that is admitted."""
        ...

    def remove(self, device: Device) -> None:
        """Remove a device that was added."""
        ...


class Match:
    """All devices have a common value of the attribute, of one type. A scalar counts as a list of one."""

    def __init__(self, attribute: QualifiedName, *, lists: bool = True) -> None:
        self._attribute = attribute
        self._lists = lists
        self._common: list[frozenset[Typed]] = []

    def admits(self, device: Device) -> bool:
        """Whether all devices would still have a value in common."""
        values = values_of(device, self._attribute, self._lists)
        return bool(values & self._common[-1] if self._common else values)

    def add(self, device: Device) -> None:
        """Add the device. The values that were common before are kept for ``remove``."""
        values = values_of(device, self._attribute, self._lists)
        self._common.append(values & self._common[-1] if self._common else values)

    def remove(self, device: Device) -> None:  # noqa: ARG002 - devices are removed in reverse order
        """Remove the device that was added last."""
        self._common.pop()


class Distinct:
    """All devices have the attribute, and no two have a value in common."""

    def __init__(self, attribute: QualifiedName, *, lists: bool = True) -> None:
        self._attribute = attribute
        self._lists = lists
        self._taken: set[Typed] = set()

    def admits(self, device: Device) -> bool:
        """Whether the device has values, and no added device has any of them."""
        values = values_of(device, self._attribute, self._lists)
        return bool(values) and not values & self._taken

    def add(self, device: Device) -> None:
        """Add the device."""
        self._taken |= values_of(device, self._attribute, self._lists)

    def remove(self, device: Device) -> None:
        """Remove the device."""
        self._taken -= values_of(device, self._attribute, self._lists)


def rule_of(constraint: MatchAttribute | DistinctAttribute, features: Features = ALL) -> Rule:
    """Return a new rule for the constraint. Without the gate for list attributes a list is no value."""
    lists = features.DRAListTypeAttributes
    match constraint:
        case MatchAttribute(attribute=attribute):
            return Match(attribute, lists=lists)
        case DistinctAttribute(attribute=attribute):
            return Distinct(attribute, lists=lists)


def applies(constraint: Constraint, request: str) -> bool:
    """Whether the constraint applies to ``request``; it may name a request or one of its alternatives."""
    parent = request.partition("/")[0]
    return not constraint.requests or request in constraint.requests or parent in constraint.requests


def values_of(device: Device, attribute: QualifiedName, lists: bool) -> frozenset[Typed]:
    """Return the values with their types, because True equals 1 in Python; empty where there are none."""
    value = device.attributes.get(attribute)
    if value is None or (isinstance(value, tuple) and not lists):
        return frozenset()
    values = value if isinstance(value, tuple) else (value,)
    return frozenset((type(each), each) for each in values)
