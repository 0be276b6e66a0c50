"""Demands: how many devices of which type a pod needs, and which of them must be close together."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cached_property
from operator import attrgetter
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.joint.closeness import UsedScopes
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.partitions.table import PartitionSpec, PartitionTable

_ORDER: Final = attrgetter("order")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A demand for devices of one type.

    Shape: ``devices`` are all that match, free or not; ``others`` those of the type that do not match;
           ``count`` is None for all of ``devices``; ``may_grow`` allows more than ``count``, one per
           scope of the first type; ``deepest`` is the largest scope allowed: 0 one device, 1 one switch,
           2 one NUMA node, 3 the machine.
    """

    kind: str
    devices: tuple[NodeDevice, ...]
    count: int | None
    others: tuple[NodeDevice, ...] = ()
    may_grow: bool = False
    deepest: int = 3

    @cached_property
    def everything(self) -> tuple[NodeDevice, ...]:
        """Return all devices of the type."""
        return (*self.devices, *self.others)

    @cached_property
    def used(self) -> UsedScopes:
        """Return the scopes in which some device of the type is in use."""
        return UsedScopes.of(self.everything)

    @cached_property
    def usable(self) -> tuple[NodeDevice, ...]:
        """Return the free devices, the most preferred first."""
        return tuple(sorted((one for one in self.devices if one.is_free), key=_ORDER))


@dataclass(frozen=True, slots=True)
class Linked:
    """Groups of GPUs that a node offers, each as one device.

    Shape: ``free`` has the members of each free group by their minors. The first member takes the group's
           device, the others nothing.
    """

    free: Mapping[tuple[int, ...], tuple[NodeDevice, ...]]

    @property
    def minors(self) -> Set[int]:
        """Return the GPUs of all free groups."""
        return {minor for minors in self.free for minor in minors}


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioned:
    """The first type is allocated in partitions.

    Shape: ``table`` is None where the node has none; ``is_binding`` where only a partition is allowed;
           ``linked`` where the node offers groups: then several GPUs are one of these groups.
    """

    table: PartitionTable | None
    spec: PartitionSpec
    is_binding: bool
    linked: Linked | None = None

    def may_serve(self, count: int | None) -> bool:
        """Whether a group can serve although too few single GPUs are free, or says why it does not."""
        if self.linked is None:
            return False
        return self.is_binding or any(len(minors) == count for minors in self.linked.free)

    def members(self, minors: tuple[int, ...], usable: Mapping[int, NodeDevice]) -> tuple[NodeDevice, ...]:
        """Return the devices of a partition, empty where it cannot be had. ``usable`` are single GPUs."""
        if self.linked is not None and len(minors) > 1:
            return self.linked.free.get(minors, ())
        return tuple(usable[minor] for minor in minors) if usable.keys() >= set(minors) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JointDemand:
    """The devices to choose for one pod or claim.

    Shape: ``together`` are types whose devices are chosen as close to ``first`` as possible; ``is_same_pcie``
           where the PCIe scopes of all of them must be equal; ``apart`` are types chosen separately.
    """

    first: Wanted | None
    together: tuple[Wanted, ...] = ()
    apart: tuple[Wanted, ...] = ()
    is_same_pcie: bool = False
    partitioned: Partitioned | None = None
