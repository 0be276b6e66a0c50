"""The composite dialect: devices that include mixins and draw capacity from other devices.

These are the objects as written, and ``dialects.mixins`` flattens them. Keys of attributes and capacities
have their domain here, while a slice may leave out the driver's own domain.
Source: KEP-4815 in its first form; taints as KEP-5055 has them (decision 0106).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.policy import RequestPolicy
from scheduler_core.model.pool import PoolId
from scheduler_core.model.taints import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixin:
    """Attributes and capacities that devices include by name.

    Shape: ``policies`` by a capacity of the same entry.
    """

    name: str
    attributes: Mapping[QualifiedName, AttributeValue] = field(default_factory=dict)
    capacity: Mapping[QualifiedName, Quantity] = field(default_factory=dict)
    policies: Mapping[QualifiedName, RequestPolicy] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeDevice:
    """A device as the slice lists it. A ``basic`` device includes no mixin and has no source.

    Shape: ``includes`` are mixins in the order of application: a later one overrides an earlier one, and
           the device's own keys override all. ``sources`` in listed order: the last one that has a
           dimension supplies it. ``groups`` are the compatibility groups declared per source.
           ``only_with`` is a CEL expression that every other device in use must meet. ``nodes`` is set
           only in a slice that delegates node selection. A device with ``is_shareable`` serves many claims
           with shares of its capacity, under ``policies``; it draws once for all of them. ``taints`` are its
           own: a device that is cut from it, or that it is cut from, has others or none.
    """

    name: DeviceName
    includes: tuple[str, ...] = ()
    sources: tuple[DeviceName, ...] = ()
    attributes: Mapping[QualifiedName, AttributeValue] = field(default_factory=dict)
    capacity: Mapping[QualifiedName, Quantity] = field(default_factory=dict)
    nodes: NodeSelection | None = None
    is_basic: bool = False
    groups: Mapping[DeviceName, frozenset[str]] = field(default_factory=dict)
    only_with: str | None = None
    is_shareable: bool = False
    policies: Mapping[QualifiedName, RequestPolicy] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeSlice:
    """One slice of a pool.

    Shape: ``nodes`` is None where each device selects nodes itself; ``broken_devices`` and
           ``broken_mixins`` map the names of entries that break a rule to the reason; ``problem`` is the
           reason why the whole pool is unusable.
    """

    name: str
    pool: PoolId
    generation: int = 1
    slice_count: int = 1
    nodes: NodeSelection | None = None
    mixins: tuple[Mixin, ...] = ()
    devices: tuple[CompositeDevice, ...] = ()
    broken_mixins: Mapping[str, str] = field(default_factory=dict)
    broken_devices: Mapping[DeviceName, str] = field(default_factory=dict)
    problem: str | None = None
