"""Devices of both dialects, flattened: each draws amounts from named sources.

A *source* is a counter set. In the v1 dialect the driver declares it; in the composite dialect it is the
flattened capacity of a device that other devices name. The allocator needs nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NewType

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.base.version import Version
from scheduler_core.model.nodes import AllNodes, NodeSelection
from scheduler_core.model.policy import RequestPolicy
from scheduler_core.model.taints import Taint

DeviceName = NewType("DeviceName", str)
SourceName = NewType("SourceName", str)
QualifiedName = NewType("QualifiedName", str)
"""``domain/identifier``. The codecs add the driver's domain to a name without one."""

Scalar = bool | int | str | Version
AttributeValue = Scalar | tuple[Scalar, ...]
"""A value, or a list of values of one type that is never empty."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The amounts that a device takes from one source while it is active.

    Shape: ``amounts`` are not negative; a device has one draw per source; ``groups`` are the compatibility
           groups declared for the source, None where there are none.
    Units: those of the dimension, exact.
    """

    source: SourceName
    amounts: Mapping[str, Quantity]
    groups: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """Conditions that must become true for an allocated device before its pod is bound.

    Shape: both fields are condition types; ``to_node`` limits the claim to the chosen node.
    """

    conditions: tuple[str, ...] = ()
    failure_conditions: tuple[str, ...] = ()
    to_node: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One allocatable entry of a pool, flattened.

    Shape: ``attributes`` and ``capacity`` have qualified names and are what CEL sees. ``parents`` are the
           devices that it names as sources, without itself, in listed order: while this device is active
           they are not allocatable, and while one of them is allocated this device is not (S4). A parent
           that draws from a source is active once, as long as it has an active user (S5). ``parents`` is
           empty in the v1 dialect. A device with ``is_shareable`` serves many claims, each with a share of
           its capacity under ``policies``; its draws are charged once. ``only_with`` is a CEL expression
           that every other device in use of the pool must meet. ``skipped_operations`` are the calls of
           the kubelet that the device does without (KEP-5945).
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
    skipped_operations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceId:
    """The identity of a device in a cluster. It does not depend on the slice that lists the device."""

    driver: str
    pool: str
    device: DeviceName

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"
