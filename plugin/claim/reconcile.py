"""PURE: which repairs are due at the start, from the records and what is on the machine.

Takes records, boot id and CDI files; returns repairs, which the driver does under the locks of each claim. An
instance that no record names is logged and never destroyed, because another program created it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from plugin.claim.quarantine.census import Census
from plugin.claim.quarantine.quarantined import Quarantined, records_of
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Foreign
from scheduler_core.model.claim import ClaimUid


@dataclass(frozen=True, slots=True)
class Undo:
    """A claim that a crash left half prepared or half undone: it is undone."""

    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class Forget:
    """A claim of an earlier boot: its instances are gone, its CDI document and record are removed."""

    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class Sweep:
    """A CDI document or a half-written file whose claim has no record: it is removed."""

    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class Keep:
    """A claim in quarantine: nothing is undone, and it is told who acts."""

    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class ReportForeign:
    """Something that no record names: it is logged."""

    found: Foreign


Repair = Undo | Forget | Sweep | Keep | ReportForeign


def repairs(
    census: Census,
    foreign: Callable[[Iterable[Claimed]], Iterable[Foreign]],
    documents: frozenset[ClaimUid],
    boot_id: str,
) -> tuple[Repair, ...]:
    """Return the repairs: claims first, then files without a claim, then what is foreign, to be logged.

    Shape: ``foreign`` says what on the machine is none of the devices that it is given; ``documents`` the
           claims that have a CDI file. Nothing is undone of a claim whose record cannot be believed, unless a
           sound line of it says that it is of an earlier boot.
    """
    alive = (record for record in census.records if record.boot_id == boot_id)
    kept = records_of(census.quarantined, boot_id)
    held = (device for record in (*alive, *kept) for device in record.devices)
    return (
        *(_of_quarantined(one, boot_id) for one in census.quarantined),
        *_of_claims(census.records, boot_id),
        *(Sweep(uid) for uid in sorted(_ownerless(census, documents))),
        *(ReportForeign(found) for found in foreign(held)),
    )


def _of_quarantined(found: Quarantined, boot_id: str) -> Repair:
    is_over = not found.may_hold_in(boot_id) and not found.is_too_new
    return Forget(found.uid) if is_over else Keep(found.uid)


def _of_claims(records: Iterable[Record], boot_id: str) -> Iterator[Repair]:
    for record in records:
        if record.boot_id != boot_id:
            yield Forget(record.uid)
        elif record.state is not State.COMPLETED:
            yield Undo(record.uid)


def _ownerless(census: Census, documents: frozenset[ClaimUid]) -> frozenset[ClaimUid]:
    known = {record.uid for record in census.records}
    # The claim of a damaged record may have a container that still runs: unprepare removes its document.
    known |= {one.uid for one in census.quarantined}
    return (documents | frozenset(census.unfinished)) - known
