"""A pool: the devices that one driver publishes under one name, read from all its slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import Device, DeviceId, DeviceName, SourceName
from scheduler_core.model.nodes import AllNodes, Node, NodeSelection, OnNode, admits


@dataclass(frozen=True, slots=True, order=True)
class PoolId:
    """The identity of a pool: two drivers may use one pool name."""

    driver: str
    name: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A device that broke a rule: the sentence that says which, and what could be read of it."""

    reason: str
    device: Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One pool at its newest generation.

    Shape: ``devices`` in slice order (slices by name, devices as listed), names unique;
           ``sources`` what each source holds, by dimension: exactly those that a device draws from;
           ``rejected`` the devices that broke a rule, each with its reason, in slice order;
           ``problem`` why nothing of the pool may be used, None when it may;
           ``is_complete`` whether every slice of the generation was seen;
           ``seen_from`` the node selection of each slice, all nodes where its devices have their own;
           ``older`` the generation before, which still counts on nodes that the newer does not concern.
    """

    id: PoolId
    generation: int = 1
    devices: tuple[Device, ...] = ()
    sources: Mapping[SourceName, Mapping[str, Quantity]] = field(default_factory=dict)
    rejected: Mapping[DeviceName, Rejected] = field(default_factory=dict)
    problem: str | None = None
    is_complete: bool = True
    seen_from: tuple[NodeSelection, ...] = (AllNodes(),)
    older: Pool | None = None

    def is_seen_from(self, node: Node) -> bool:
        """Whether a slice of the pool concerns the node."""
        return any(admits(selection, node) for selection in self.seen_from)

    def as_seen_from(self, node: Node) -> Pool:
        """Return the newest generation of which a slice concerns the node; this one where none does."""
        pool: Pool | None = self
        while pool is not None and not pool.is_seen_from(node):
            pool = pool.older
        return pool or self

    def concerns(self, node: Node) -> bool:
        """Whether the pool may have devices for the node: not all of it is of other nodes by name.

        Scopes of such other pools mean nothing on the node, even where their values look the same.
        """
        return any(not isinstance(one, OnNode) or one.name == node.name for one in self._selections())

    def _selections(self) -> Iterator[NodeSelection]:
        yield from self.seen_from
        yield from (device.nodes for device in self.devices)
        yield from (rejected.device.nodes for rejected in self.rejected.values())
        if self.older is not None:
            yield from self.older._selections()

    def id_of(self, device: Device) -> DeviceId:
        """Return the cluster-wide identity of one of the pool's devices."""
        return DeviceId(self.id.driver, self.id.name, device.name)
