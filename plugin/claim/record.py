"""PURE: what the plugin records of one claim. The fields are the format on disk.

A record is changed by ``replace`` and never built anew, so that no field of it is lost.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import UNSET, UnsetType

from plugin.claim.states import State
from plugin.kinds.claimed import Claimed
from plugin.kinds.registry import ClaimedDevice
from plugin.machine.lock_target import LockTarget
from scheduler_core.model.claim import ClaimRef, ClaimUid


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One claim on this node and its state.

    Shape: ``devices`` in the order of the allocation's results, this driver's only; empty before the
           allocation is known (a placeholder); ``pod_claim_name`` how the pod calls a claim that was made
           from a template; ``cdi_sha256`` the checksum of the CDI document that was written for the devices
           as they are here, in hexadecimal digits. Versions before it pass over it and leave it out.
    """

    claim_uid: str
    namespace: str
    name: str
    driver: str
    boot_id: str
    state: State
    devices: tuple[ClaimedDevice, ...]
    pod_claim_name: str | UnsetType = UNSET
    cdi_sha256: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.state is State.ABSENT or (self.state is State.COMPLETED and not self.devices):
            raise ValueError("a record has a stored state, and once completed at least one device")

    @property
    def uid(self) -> ClaimUid:
        """Return the claim's UID."""
        return ClaimUid(self.claim_uid)

    @property
    def ref(self) -> ClaimRef:
        """Return how people name the claim."""
        return ClaimRef(self.namespace, self.name)

    @property
    def lock_targets(self) -> frozenset[LockTarget]:
        """Return the hardware that the claim may change: its devices are that, or are parts of it."""
        own = (device for device in self.devices if not device.has_admin_access)
        return frozenset(target for device in own for target in device.lock_targets)

    def told_as(self, plan: Record) -> Record:
        """Return the record with what containers are told taken from a plan of the same allocation."""
        devices = (
            msgspec.structs.replace(
                device, alternative=planned.alternative, pci_addresses=planned.pci_addresses
            )
            for device, planned in zip(self.devices, plan.devices, strict=True)
        )
        return msgspec.structs.replace(self, pod_claim_name=plan.pod_claim_name).with_devices(devices)

    def with_document(self, cdi_sha256: str) -> Record:
        """Return the record with the checksum of the document that its claim has."""
        return msgspec.structs.replace(self, cdi_sha256=cdi_sha256)

    def written_for(self, found: Record) -> str | None:
        """Return the checksum of the claim's document, None where it was not written for these devices."""
        pairs = zip(self.devices, found.devices, strict=True)
        is_same = all(one.says_the_same(other) for one, other in pairs)
        return None if self.cdi_sha256 is UNSET or not is_same else self.cdi_sha256

    def in_state(self, state: State) -> Record:
        """Return the record in another state."""
        return msgspec.structs.replace(self, state=state)

    def with_device(self, device: Claimed) -> Record:
        """Return the record with one device replaced by what is now known of it."""
        return self.with_devices(device if old.cdi_id == device.cdi_id else old for old in self.devices)

    def with_devices(self, devices: Iterable[Claimed]) -> Record:
        """Return the record with all its devices replaced."""
        return msgspec.structs.replace(self, devices=tuple(devices))


def under_mps(records: Iterable[Record]) -> frozenset[str]:
    """Return the UUIDs of the devices that records have under MPS: these daemons are needed."""
    devices = (device for record in records for device in record.devices)
    return frozenset(uuid for device in devices if (uuid := device.mps_uuid) is not None)


def with_interval(records: Iterable[Record]) -> frozenset[str]:
    """Return the UUIDs of the GPUs for which records have an interval of time slicing."""
    devices = (device for record in records for device in record.devices)
    return frozenset(
        target.address for device in devices if device.interval for target in device.lock_targets
    )
