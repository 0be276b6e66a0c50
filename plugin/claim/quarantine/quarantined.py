"""PURE: a claim whose record cannot be believed, and what it may hold.

Such a claim keeps its devices until its pod is gone or an operator releases it. What it may hold is known
from the sound lines of its record, else from its CDI document: without one no container got anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from agent.hardware.ports import Gpus
from agent.hardware.types import GpuUuid
from agent.inventory.model import NodeDevices
from plugin.base.errors import RecordDamaged, RecordTooNew, RecordUnusable
from plugin.claim.members import whole_gpus
from plugin.claim.quarantine.evidence import Evidence
from plugin.claim.record import Record
from plugin.kinds.claimed import Claimed
from plugin.kinds.registry import ClaimedDevice, mig_device_of
from scheduler_core.model.claim import ClaimUid
from scheduler_core.model.device import DeviceName

CUT = "its end is missing: the claim has a CDI document, and no line says that it was completed"
"""A document is written after that line, so it was there."""
_MIG: Final = "MIG-"
LOST = "it is gone, and the claim has a CDI document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A claim whose record cannot be believed.

    Shape: ``why`` what is wrong with the record; ``known`` what its lines say; ``told`` the identities of the
           devices that the claim's CDI document gives to containers, by name.
    """

    uid: ClaimUid
    why: str
    known: Evidence = field(default_factory=Evidence)
    told: Mapping[DeviceName, str] = field(default_factory=dict)
    is_too_new: bool = False

    @property
    def record(self) -> Record | None:
        """Return what it holds as a record, None where no sound line says it.

        What its lost lines said of a device is taken from its CDI document, as far as that tells it.
        """
        known = self.known.record
        return known and known.with_devices(self._with_identity(device) for device in known.devices)

    @property
    def uuids(self) -> frozenset[str]:
        """Return the UUIDs of GPUs and MIG devices that its CDI document names."""
        return frozenset(uuid for told in self.told.values() for uuid in told.split(","))

    @property
    def text(self) -> str:
        """Return how messages name the claim."""
        return f"claim {self.uid}" if self.known.ref is None else f"claim {self.known.ref} ({self.uid})"

    @property
    def error(self) -> RecordUnusable:
        """Return why the claim is neither prepared nor undone, and who acts."""
        made = RecordTooNew if self.is_too_new else RecordDamaged
        remedy = f"{made.remedy} (tangram plugin release {self.uid})"
        error = made("read", f"the record of claim {self.uid}", self.why, remedy)
        error.claim_uid = self.uid
        return error

    @property
    def devices(self) -> tuple[str, ...]:
        """Return the names of the devices that it may hold."""
        own = (one for one in self.record.devices if not one.has_admin_access) if self.record else ()
        return tuple(sorted({one.device for one in own} or {*self.told, *self.known.names}))

    @property
    def is_undone_at_end(self) -> bool:
        """Whether the end of the quarantine also undoes what the claim has on the hardware."""
        return self.known.record is not None and not self.is_too_new

    @property
    def what_is_left(self) -> str:
        """Return what the operator has to know about the end of the quarantine."""
        if self.is_undone_at_end:
            return "what its sound lines say is undone; what only lost ones said stays on the hardware"
        names = ", ".join(self.devices) or "none that is known"
        return f"nothing is undone on the hardware, the operator looks after its devices: {names}"

    def with_instances(self, gpus: Gpus, node: NodeDevices, claim: Record) -> Self:
        """Return the claim with a record of the MIG devices that its document names, if no line has one.

        A UUID that containers got is proof enough that an instance is the claim's, and without a record
        nothing would name the instance again. No other kind of device leaves anything that would stay unseen.
        Shape: ``claim`` is a record without devices.
        Raises: RecordUnusable if the document names an instance whose place the node's devices do not say;
                HardwareError.
        """
        if self.known.record is not None or self.is_too_new:
            return self
        found: list[ClaimedDevice] = []
        for name, uuid in self.told.items():
            if uuid.startswith(_MIG):
                device = mig_device_of(node, name, uuid, gpus)
                if device is None:
                    raise self.error
                found.append(device)
        if not found:
            return self
        return replace(self, known=replace(self.known, record=claim.with_devices(found), ref=claim.ref))

    def may_hold_in(self, boot_id: str) -> bool:
        """Whether it may hold anything in a boot."""
        return self.known.boot_id in {None, boot_id}

    def names_on(self, node: NodeDevices) -> frozenset[DeviceName]:
        """Return the devices of a node that it may hold, where no record says it: by name and by UUID."""
        if self.known.record is not None:
            return frozenset()
        gpus = whole_gpus((GpuUuid(uuid) for uuid in self.uuids), node)
        return frozenset({*self.known.names, *self.told, *gpus} & node.by_name.keys())

    def _with_identity(self, device: Claimed) -> Claimed:
        identity = self.told.get(DeviceName(device.device))
        return device if identity is None else device.known_as(identity)


def records_of(quarantined: Iterable[Quarantined], boot_id: str) -> tuple[Record, ...]:
    """Return what quarantined claims hold in a boot, as far as sound lines say it."""
    found = (one.record for one in quarantined if one.may_hold_in(boot_id))
    return tuple(record for record in found if record is not None)
