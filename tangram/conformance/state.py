"""What is in use after an answer, as a plain list from which every rule is checked.

No sums are kept, because the checker must not share the ledger's way of counting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import AllocatedDevice, ClaimRef
from scheduler_core.model.device import Device, DeviceId, DeviceName
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation
from tangram.conformance.situation import Situation


@dataclass(frozen=True, slots=True)
class Use:
    """One device in use. Shape: ``is_new`` where the answer gave it; equal uses of a device are shares."""

    claim: ClaimRef
    result: AllocatedDevice
    device: Device
    is_new: bool

    def __str__(self) -> str:
        return f"{self.result.device.device} of claim {self.claim} request {self.result.request}"


@dataclass(frozen=True, slots=True)
class State:
    """One pool with everything that is in use of it, without admin access."""

    pool: Pool
    uses: tuple[Use, ...]

    @property
    def names(self) -> frozenset[DeviceName]:
        """Return the devices that claims hold."""
        return frozenset(use.device.name for use in self.uses)

    def ancestors(self, name: DeviceName) -> frozenset[DeviceName]:
        """Return everything that the device is cut from, at any distance."""
        devices = {device.name: device for device in self.pool.devices}
        found: set[DeviceName] = set()
        open_names = list(devices[name].parents)
        while open_names:
            parent = open_names.pop()
            if parent not in found:
                found.add(parent)
                open_names += devices[parent].parents
        return frozenset(found)

    def active(self, *, without_new: bool = False) -> tuple[Device, ...]:
        """Return the devices that draw: those in use and all that they are cut from, once each."""
        names = {use.device.name for use in self.uses if not (without_new and use.is_new)}
        names |= {ancestor for name in names for ancestor in self.ancestors(name)}
        return tuple(device for device in self.pool.devices if device.name in names)


def pools_seen(situation: Situation, node: Node) -> tuple[Pool, ...]:
    """Return the pools in the generation that counts on the node."""
    cluster = situation.cluster
    return tuple(pool.with_features(cluster.features).as_seen_from(node) for pool in cluster.pools)


def states(answer: Allocation, situation: Situation, node: Node) -> Iterator[State]:
    """Yield, per pool, what is in use with the answer given. Devices that are gone hold nothing."""
    held = [(claim.ref, claim.results, False) for claim in situation.cluster.allocated]
    given = [(ref, results, True) for ref, results in answer.results.items()]
    for pool in pools_seen(situation, node):
        devices = {pool.id_of(device): device for device in pool.devices}
        yield State(pool, tuple(_uses([*held, *given], devices)))


def _uses(
    held: Sequence[tuple[ClaimRef, tuple[AllocatedDevice, ...], bool]], devices: Mapping[DeviceId, Device]
) -> Iterator[Use]:
    for ref, results, is_new in held:
        for result in results:
            if result.device in devices and not result.admin_access:
                yield Use(ref, result, devices[result.device], is_new)
