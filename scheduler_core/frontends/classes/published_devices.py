"""Published devices as resource classes count them, on a cluster state that knows which exclude each other.

A class counts devices. Only the state knows that a partition takes a part of its GPU away, so the state is
asked before a device is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.ledger import Overdrawn
from scheduler_core.frontends.classes.model import ClassDevice, Grant, Use
from scheduler_core.frontends.classes.published import properties_of
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import AllNodes, NodeSelection, OnNode, SliceSelection
from scheduler_core.model.pool import Pool
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.places import LedgerPlace, Places, Trial, admits

ClassPlace = tuple[str, str]
"""A node, and what classes call a device there."""


@dataclass(slots=True)
class PublishedDevices:
    """Devices of a state's pools. What pods are given is held in the state.

    Shape: ``by_node`` by driver and pool, in slice order; ``notes`` tell what classes cannot count.
    """

    state: ClusterState
    by_node: dict[str, list[ClassDevice]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _devices: dict[ClassPlace, DeviceId] = field(default_factory=dict)
    _places: dict[DeviceId, ClassPlace] = field(default_factory=dict)

    @classmethod
    def of(cls, state: ClusterState) -> PublishedDevices:
        """Return the devices of a state's pools."""
        found = cls(state)
        for pool in state.pools():
            found._add(pool)
        return found

    def _add(self, pool: Pool) -> None:
        if pool.problem is not None:
            self.notes.append(f"pool {pool.id} is left out: {pool.problem}")
            return
        left_out = 0
        for device in pool.devices:
            node = None if device.is_shareable else only_node(device.nodes, pool.seen_from)
            if node is None:
                left_out += 1
                continue
            listed = self.by_node.setdefault(node, [])
            is_taken = (node, str(device.name)) in self._devices  # two drivers may use one name on a node
            name = f"{device.name}.{pool.id.driver}" if is_taken else str(device.name)
            listed.append(ClassDevice(name, 1, properties_of(pool.id.driver, device)))
            self._devices[node, name] = pool.id_of(device)
            self._places[pool.id_of(device)] = (node, name)
        if left_out:
            what = "are shared, or belong to no single node"
            self.notes.append(f"pool {pool.id}: {left_out} devices are left to claims: they {what}")

    def held_by(self, claim: AllocatedClaim) -> Iterator[Grant]:
        """Yield what a claim holds, a grant for each node. Admin access holds nothing."""
        uses: dict[str, list[Use]] = {}
        for result in claim.results:
            place = self._places.get(result.device)
            if place is not None and not result.admin_access:
                uses.setdefault(place[0], []).append(Use("", place[1], 1))
        return (Grant(node, tuple(listed)) for node, listed in uses.items())

    @property
    def blocked(self) -> frozenset[ClassPlace]:
        """Return the devices that cannot be given now: somebody holds them or parts of them."""
        places = Places(self.state)
        found = ((one, places.of(device)) for one, device in self._devices.items())
        return frozenset(one for one, place in found if place is None or not admits(place))

    def record(self, pod: str, grant: Grant) -> None:
        """Hold in the state what a pod already has."""
        self.state.hold(_claim_of(pod, self._granted(grant)))

    def take(self, pod: str, grant: Grant) -> str | None:
        """Hold what a pod was given; return why it cannot be held, and hold nothing, or None."""
        devices, places = self._granted(grant), Places(self.state)
        found = [place for device in devices if (place := places.of(device)) is not None]
        if len(found) < len(devices) or not Trial(pod).take([(place, None) for place in found]):
            return self._obstacle(pod, devices)
        self.state.hold(_claim_of(pod, devices))
        return None

    def _obstacle(self, pod: str, devices: list[DeviceId]) -> str:
        """Return why devices cannot be taken together, as ledgers say it."""
        places = Places(self.state, explained=True)
        for device in devices:
            place = places.of(device)
            if not isinstance(place, LedgerPlace):
                return f"device {device} is not published"
            try:
                place.ledger.take(place.name, f"pod {pod}")
            except Overdrawn as error:
                return str(error)
        raise AssertionError("tables refuse what ledgers refuse")

    def _granted(self, grant: Grant) -> list[DeviceId]:
        """Return the published devices of a grant; others are counted by classes alone."""
        found = (self._devices.get((grant.node, use.device)) for use in grant.uses)
        return [device for device in found if device is not None]


def _claim_of(pod: str, devices: list[DeviceId]) -> AllocatedClaim:
    namespace, _, name = pod.rpartition("/")
    return AllocatedClaim(
        ref=ClaimRef(namespace, name),
        uid=ClaimUid(f"pod {pod}"),
        results=tuple(AllocatedDevice("", device) for device in devices),
    )


def only_node(nodes: NodeSelection, seen_from: tuple[SliceSelection, ...]) -> str | None:
    """Return the one node where a device can be used, None where there may be others.

    Shape: ``seen_from`` are the selections of its pool, which count where the device selects all nodes.
    """
    match seen_from if isinstance(nodes, AllNodes) else (nodes,):
        case (OnNode(name),):
            return name
        case _:
            return None
