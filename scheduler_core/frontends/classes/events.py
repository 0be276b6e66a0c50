"""What happens to classes, nodes and pods, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from scheduler_core.frontends.classes.model import ClassDevice, Grant, ResourceClass


@dataclass(frozen=True, slots=True)
class AddClass:
    """A class is created. Told again it changes nothing; with another spec it is refused."""

    resource_class: ResourceClass


@dataclass(frozen=True, slots=True)
class UpdateClass:
    """A class is written again. Only what it is already is accepted."""

    resource_class: ResourceClass


@dataclass(frozen=True, slots=True)
class RemoveClass:
    """A class is deleted. Pods keep what they were given by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class AddNode:
    """A node joins, or reports other devices. Shape: ``devices`` in listed order, names unique."""

    name: str
    devices: tuple[ClassDevice, ...]


@dataclass(frozen=True, slots=True)
class RemoveNode:
    """A node leaves; its devices count nowhere any more."""

    name: str


@dataclass(frozen=True, slots=True)
class AddPod:
    """A pod is created, or is there already with a ``grant`` that its annotations tell.

    Shape: ``requests`` by class, None where only the grant is known; ``without`` the devices, as
           (node, name), that cannot be given for reasons outside of this state.
    """

    name: str
    requests: Mapping[str, int] | None
    grant: Grant | None = None
    without: Set[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class DeletePod:
    """A pod is deleted or has ended; unknown ones are nobody's loss."""

    name: str


Event = AddClass | UpdateClass | RemoveClass | AddNode | RemoveNode | AddPod | DeletePod


@dataclass(frozen=True, slots=True)
class Done:
    """The event was taken in."""


@dataclass(frozen=True, slots=True)
class PodPlaced:
    """The pod holds devices."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class PodUnplaced:
    """The pod fits nowhere and holds nothing; whoever asked may ask again later."""

    reason: str


@dataclass(frozen=True, slots=True)
class EventRefused:
    """The event contradicts what is there; nothing has changed."""

    reason: str


PodOutcome = PodPlaced | PodUnplaced | EventRefused
Outcome = Done | PodOutcome
