"""Pools: the devices that one driver publishes under one pool name, read from all slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import Device, DeviceId, DeviceName, QualifiedName, SourceName
from scheduler_core.model.nodes import AllNodes, Node, NodeSelection, OnNode, SliceSelection, admits


@dataclass(frozen=True, slots=True, order=True)
class PoolId:
    """The identity of a pool. Two drivers may use the same pool name."""

    driver: str
    name: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A device that breaks a rule. Shape: ``reason`` names the rule; ``device`` is what could be read."""

    reason: str
    device: Device


@dataclass(frozen=True, slots=True)
class PartitionableSlices:
    """The slices of a pool that are ignored where ``DRAPartitionableDevices`` is off.

    These are the slices with counter sets and those whose devices select nodes themselves.
    Shape: ``devices`` are the devices that these slices list, usable or rejected; ``others_seen_from`` has
           the node selection of each other slice.
    Source: upstream v0.37.2, GatherPools.
    """

    devices: tuple[DeviceName, ...]
    others_seen_from: tuple[NodeSelection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One pool at its newest generation.

    Shape: ``devices`` in slice order (slices by name, devices as listed), names unique;
           ``sources`` has the amounts of every source that a device draws from, by dimension;
           ``rejected`` has the devices that break a rule, in slice order;
           ``problem`` is the reason why the whole pool is unusable, None where it is usable;
           ``is_complete`` says whether every slice of the generation is present;
           ``seen_from`` has the node selection of each slice, each once;
           ``older`` is the generation before, which may still count on nodes that the newer one has no slice
           for; ``partitionable`` is what the pool loses without ``DRAPartitionableDevices``, None for
           nothing; ``full_names`` are the capacities that v1 slices write with the driver's own domain,
           which tables do not keep; ``skips_operations`` whether devices do without calls of the kubelet.
    """

    id: PoolId
    generation: int = 1
    devices: tuple[Device, ...] = ()
    sources: Mapping[SourceName, Mapping[str, Quantity]] = field(default_factory=dict)
    rejected: Mapping[DeviceName, Rejected] = field(default_factory=dict)
    problem: str | None = None
    is_complete: bool = True
    seen_from: tuple[SliceSelection, ...] = (AllNodes(),)
    older: Pool | None = None
    partitionable: PartitionableSlices | None = None
    full_names: frozenset[QualifiedName] = frozenset()
    skips_operations: bool = False

    def with_features(self, features: Features) -> Pool:
        """Return the pool without the slices that an allocator ignores under these features.

        The pool stays complete without ``DRAPartitionableDevices``: an ignored slice counts as present. A
        pool whose slices are all ignored selects no node.
        """
        older = self.older.with_features(features) if self.older is not None else None
        if not features.DRADeviceCompatibilityGroups and self.is_complete and self._has_groups:
            # kube-scheduler without the gate ignores slices with groups: their pool is incomplete to it.
            return replace(self, older=older, is_complete=False).with_features(features)
        ignored = self.partitionable if not features.DRAPartitionableDevices else None
        if ignored is None:
            return self if older is self.older else replace(self, older=older)
        gone = frozenset(ignored.devices)
        return replace(
            self,
            devices=tuple(device for device in self.devices if device.name not in gone),
            rejected={name: rejected for name, rejected in self.rejected.items() if name not in gone},
            seen_from=ignored.others_seen_from,
            older=older,
            partitionable=None,
        )

    @property
    def _has_groups(self) -> bool:
        return any(draw.groups for device in self.devices for draw in device.draws)

    def is_seen_from(self, node: Node) -> bool:
        """Whether some slice of the pool selects the node."""
        return any(admits(selection, node) for selection in self.seen_from)

    def as_seen_from(self, node: Node) -> Pool:
        """Return the generation that counts on the node: the newest one with a slice that selects it.

        An older one counts only if it is complete and all its slices select the node. Otherwise it is
        obsolete, and this generation is returned, of which the node sees no slice.
        Source: upstream v0.37.2, GatherPools and checkSlicesInPool.
        """
        pool = self._newest_for(node)
        if pool is None or not pool.is_complete:
            return self
        return pool if all(admits(one, node) for one in pool.seen_from) else self

    def obsolete_on(self, node: Node) -> Pool | None:
        """Return the older generation that the node would see, if a newer one made it obsolete."""
        pool = self._newest_for(node)
        return None if pool is None or pool is self.as_seen_from(node) else pool

    def _newest_for(self, node: Node) -> Pool | None:
        pool: Pool | None = self
        while pool is not None and not pool.is_seen_from(node):
            pool = pool.older
        return pool

    def concerns(self, node: Node) -> bool:
        """Whether the pool may have devices for the node: not all of it is of other nodes by name.

        Scopes of other nodes' pools mean nothing on the node, even if their values are equal.
        """
        return any(not isinstance(one, OnNode) or one.name == node.name for one in self._selections())

    def _selections(self) -> Iterator[SliceSelection]:
        yield from self.seen_from
        yield from (device.nodes for device in self.devices)
        yield from (rejected.device.nodes for rejected in self.rejected.values())
        if self.older is not None:
            yield from self.older._selections()

    def id_of(self, device: Device) -> DeviceId:
        """Return the cluster-wide identity of one of the pool's devices."""
        return DeviceId(self.id.driver, self.id.name, device.name)
