"""Events about classes, nodes and pods, and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Set

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.classes.model import ClassDevice, Grant, ResourceClass


@dataclass(frozen=True, slots=True)
class AddClass:
    """A class is created. A repeated event changes nothing; one with another spec is refused."""

    resource_class: ResourceClass


@dataclass(frozen=True, slots=True)
class UpdateClass:
    """A class is updated. The event is refused unless the spec is unchanged."""

    resource_class: ResourceClass


@dataclass(frozen=True, slots=True)
class RemoveClass:
    """A class is deleted. Pods keep the devices that they were given for it."""

    name: str


@dataclass(frozen=True, slots=True)
class AddNode:
    """A node joins, or its devices change. Shape: ``devices`` in listed order, names unique."""

    name: str
    devices: tuple[ClassDevice, ...]


@dataclass(frozen=True, slots=True)
class RemoveNode:
    """A node leaves. Its devices no longer count."""

    name: str


@dataclass(frozen=True, slots=True)
class AddPod:
    """A pod is created, or it is running with the ``grant`` in its annotations.

    Shape: ``requests`` by class, None where only the grant is known; ``without`` are devices, as (node,
           name), that are not free for reasons outside of this state.
    """

    name: str
    requests: Mapping[str, int] | None
    grant: Grant | None = None
    without: Set[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class DeletePod:
    """A pod is deleted or has ended. An unknown pod is ignored."""

    name: str


Event = AddClass | UpdateClass | RemoveClass | AddNode | RemoveNode | AddPod | DeletePod


@dataclass(frozen=True, slots=True)
class Done:
    """The event is applied."""


@dataclass(frozen=True, slots=True)
class PodPlaced:
    """The pod holds devices."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class PodUnplaced:
    """The pod fits on no node and holds nothing. The caller may try again later."""

    reason: str


@dataclass(frozen=True, slots=True)
class EventRefused:
    """The event contradicts the state, which is unchanged."""

    reason: str


PodOutcome = PodPlaced | PodUnplaced | EventRefused
Outcome = Done | PodOutcome
