"""Devices, as both dialects describe them: flat, drawing amounts from named sources.

A *source* is a counter set: in the v1 dialect one that the driver declares, in the composite dialect
the flattened capacity of a device that others name. The allocator knows nothing finer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NewType

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.model.nodes import AllNodes, NodeSelection
from scheduler_core.model.policy import RequestPolicy
from scheduler_core.model.taints import Taint

DeviceName = NewType("DeviceName", str)
SourceName = NewType("SourceName", str)
QualifiedName = NewType("QualifiedName", str)
"""``domain/identifier``; the codecs complete bare names with the driver's domain."""

Scalar = bool | int | str | Version
AttributeValue = Scalar | tuple[Scalar, ...]
"""A value, or a list of values of one type (never empty)."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What a device takes from one source while it is active.

    Shape: ``amounts`` are not negative; one draw per source and device; ``groups`` are the compatibility
           groups declared for the source, None where none are.
    Units: those of the dimension, exact.
    """

    source: SourceName
    amounts: Mapping[str, Quantity]
    groups: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """What must become true of a device after it was chosen, before its pod is bound.

    Shape: condition types; ``to_node`` narrows the claim to the chosen node.
    """

    conditions: tuple[str, ...] = ()
    failure_conditions: tuple[str, ...] = ()
    to_node: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One allocatable entry of a pool, flattened.

    Shape: ``attributes`` and ``capacity`` are keyed by qualified names and are what CEL sees;
           ``parents`` are the devices it names as sources, itself left out, in listed order: while
           this device is active they are not allocatable, and the other way round (S4). A parent that
           draws itself is made real once, as long as it has an active user (S5). ``parents`` is empty
           in the v1 dialect. A ``is_shareable`` device serves many claims, each by a share of its
           capacity under ``policies``; its draws are charged once. ``only_with`` is a CEL expression
           that every other device in use of the pool must meet.
    Source: KEP-4815 in its first form; docs/semantics.md, rules S1 to S8.
    """

    name: DeviceName
    attributes: Mapping[QualifiedName, AttributeValue] = field(default_factory=dict)
    capacity: Mapping[QualifiedName, Quantity] = field(default_factory=dict)
    draws: tuple[Draw, ...] = ()
    parents: tuple[DeviceName, ...] = ()
    nodes: NodeSelection = field(default_factory=AllNodes)
    taints: tuple[Taint, ...] = ()
    binding: Binding = field(default_factory=Binding)
    is_shareable: bool = False
    policies: Mapping[QualifiedName, RequestPolicy] = field(default_factory=dict)
    only_with: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceId:
    """The identity of a device in a cluster; the slice that lists it may change."""

    driver: str
    pool: str
    device: DeviceName

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"
