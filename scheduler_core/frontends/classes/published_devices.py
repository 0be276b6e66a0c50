"""Published devices as resource classes count them, with the ledgers that know which exclude each other.

A class counts devices. Only a ledger knows that a partition takes a part of its GPU away, so the ledger is
asked before a device is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scheduler_core.books.ledger import Ledger, Overdrawn
from scheduler_core.frontends.classes.model import ClassDevice, Grant, Use
from scheduler_core.frontends.classes.published import properties_of
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.device import Device, DeviceId, DeviceName
from scheduler_core.model.nodes import AllNodes, OnNode
from scheduler_core.model.pool import Pool
from scheduler_core.search.problem import books

Place = tuple[str, str]
"""A node, and what classes call a device there."""


@dataclass(slots=True)
class PublishedDevices:
    """Devices of pools, and what claims and pods hold of them.

    Shape: ``by_node`` in slice order; ``notes`` tell what classes cannot count.
    """

    by_node: dict[str, list[ClassDevice]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _ledgers: dict[Place, tuple[Ledger, DeviceName]] = field(default_factory=dict)
    _places: dict[DeviceId, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, pools: Sequence[Pool], allocated: Sequence[AllocatedClaim]) -> PublishedDevices:
        """Return the devices of pools, with what claims hold."""
        found = cls()
        for pool, ledger in zip(pools, books(pools, allocated), strict=True):
            found._add(pool, ledger)
        return found

    def _add(self, pool: Pool, ledger: Ledger) -> None:
        if pool.problem is not None:
            self.notes.append(f"pool {pool.id} is left out: {pool.problem}")
            return
        left_out = 0
        for device in pool.devices:
            node = _node_of(pool, device)
            if node is None:
                left_out += 1
                continue
            listed = self.by_node.setdefault(node, [])
            is_taken = (node, str(device.name)) in self._ledgers  # two drivers may use one name on a node
            name = f"{device.name}.{pool.id.driver}" if is_taken else str(device.name)
            listed.append(ClassDevice(name, 1, properties_of(pool.id.driver, device)))
            self._ledgers[node, name] = (ledger, device.name)
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
    def blocked(self) -> frozenset[Place]:
        """Return the devices that cannot be given now: somebody holds them or parts of them."""
        return frozenset(place for place, (ledger, name) in self._ledgers.items() if not ledger.admits(name))

    def record(self, pod: str, grant: Grant) -> None:
        """Enter what a pod already holds."""
        for ledger, name in self._entries(grant):
            ledger.record(name, f"pod {pod}")

    def take(self, pod: str, grant: Grant) -> str | None:
        """Enter what a pod was given; return why it cannot be, and enter nothing, or None."""
        entered: list[tuple[Ledger, DeviceName]] = []
        for ledger, name in self._entries(grant):
            try:
                ledger.take(name, f"pod {pod}")
            except Overdrawn as error:
                for earlier, one in entered:
                    earlier.release(one)
                return str(error)
            entered.append((ledger, name))
        return None

    def _entries(self, grant: Grant) -> Iterator[tuple[Ledger, DeviceName]]:
        for use in grant.uses:
            entry = self._ledgers.get((grant.node, use.device))
            if entry is not None:
                yield entry


def _node_of(pool: Pool, device: Device) -> str | None:
    """Return the one node where a pod can hold the device exclusively, None where there is none."""
    selections = pool.seen_from if isinstance(device.nodes, AllNodes) else (device.nodes,)
    match selections:
        case (OnNode(name),) if not device.is_shareable:
            return name
        case _:
            return None
