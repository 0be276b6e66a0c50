"""PURE: at the start, what is remembered against what is there, to the repairs that are due.

Records, hardware, boot id and CDI files enter; repairs leave, for the driver to do under the locks of
each claim. An instance that no record names is reported and never destroyed: somebody made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agent.hardware.types import GpuInstance, GpuUuid
from plugin.claim.record import Record
from plugin.claim.record_store import Census
from plugin.claim.states import State
from plugin.machine.claimed_device import ClaimedMigPartition
from plugin.machine.mig import is_ours
from scheduler_core.model.claim import ClaimUid


@dataclass(frozen=True, slots=True)
class Undo:
    """A claim that a crash left half-done: it is undone."""

    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class Forget:
    """A claim of an earlier boot: its instances are gone, its document and record go too."""

    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class Sweep:
    """A CDI document or a half-written file whose claim has no record."""

    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class SetAside:
    """A file that is no record."""

    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class ReportForeign:
    """An instance that no record names."""

    instance: GpuInstance


Repair = Undo | Forget | Sweep | SetAside | ReportForeign


def repairs(
    census: Census,
    instances: Mapping[GpuUuid, Iterable[GpuInstance]],
    documents: frozenset[ClaimUid],
    boot_id: str,
) -> tuple[Repair, ...]:
    """Return what has to be done, claims before leftovers before reports.

    Shape: ``instances`` of the GPUs that could be read; ``documents`` the claims that have a CDI file.
           A claim whose record is of a newer version is left alone altogether.
    """
    return (
        *(SetAside(uid) for uid in census.corrupt),
        *_of_claims(census.records, boot_id),
        *(Sweep(uid) for uid in sorted(_ownerless(census, documents))),
        *(ReportForeign(instance) for instance in _foreign(census.records, instances, boot_id)),
    )


def _of_claims(records: Iterable[Record], boot_id: str) -> Iterator[Repair]:
    for record in records:
        if record.boot_id != boot_id:
            yield Forget(record.uid)
        elif record.state is not State.COMPLETED:
            yield Undo(record.uid)


def _ownerless(census: Census, documents: frozenset[ClaimUid]) -> frozenset[ClaimUid]:
    known = {record.uid for record in census.records}
    known |= {error.claim_uid for error in census.too_new if error.claim_uid is not None}
    # The claim of a corrupt record may have a container that still runs: its document goes with unprepare.
    known |= {*census.corrupt, *census.set_aside}
    return (documents | frozenset(census.unfinished)) - known


def _foreign(
    records: Iterable[Record], instances: Mapping[GpuUuid, Iterable[GpuInstance]], boot_id: str
) -> Iterator[GpuInstance]:
    held = [
        device
        for record in records
        if record.boot_id == boot_id
        for device in record.devices
        if isinstance(device, ClaimedMigPartition)
    ]
    for found in instances.values():
        for instance in found:
            if not any(is_ours(instance, device) for device in held):
                yield instance
