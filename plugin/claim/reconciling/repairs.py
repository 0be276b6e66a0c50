"""PURE: which repairs are due, at the start and while the plugin runs, from the records and what was seen.

Takes records, boot id, CDI files, what is missing on the machine and which claims are over; returns repairs,
which are made under the locks of each claim. An instance that no record names is logged and never destroyed,
because another program created it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from plugin.claim.quarantine.census import Census
from plugin.claim.quarantine.quarantined import Quarantined, records_of
from plugin.claim.reconciling.missing import MissingDevice
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Foreign
from scheduler_core.model.claim import ClaimUid


@dataclass(frozen=True, slots=True)
class Undo:
    """A claim that a crash left half prepared or half undone: it is undone."""

    kind: ClassVar[str] = "undo"
    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class Forget:
    """A claim of an earlier boot: its instances are gone, its CDI document and record are removed."""

    kind: ClassVar[str] = "forget"
    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class Sweep:
    """A CDI document or a half-written file whose claim has no record: it is removed."""

    kind: ClassVar[str] = "sweep"
    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class Keep:
    """A claim in quarantine: nothing is undone, and it is told who acts."""

    kind: ClassVar[str] = "keep"
    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class ReportForeign:
    """Something that no record names: it is logged."""

    found: Foreign


@dataclass(frozen=True, slots=True)
class End:
    """A claim that no pod of this node has had for long: it is undone."""

    kind: ClassVar[str] = "end"
    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A prepared claim whose CDI document was deleted or changed: it is written again."""

    kind: ClassVar[str] = "rewrite"
    uid: ClaimUid


@dataclass(frozen=True, slots=True)
class Tell:
    """A prepared claim of which more or less is missing than was told: its users are told."""

    kind: ClassVar[str] = "tell"
    uid: ClaimUid


Repair = Undo | Forget | Sweep | Keep | ReportForeign
RunningRepair = Undo | Forget | Sweep | End | Rewrite | Tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one look found beside the records.

    Shape: ``documents`` the claims that have a CDI file; ``altered`` those whose document is missing, or is
           not as it was; ``missing`` the devices that are not there, of each prepared claim whose hardware
           could be read; ``told`` what was missing before, of claims of which something was; ``over`` the
           claims that no pod of this node has had for long.
    """

    documents: frozenset[ClaimUid] = frozenset()
    altered: frozenset[ClaimUid] = frozenset()
    missing: Mapping[ClaimUid, Sequence[MissingDevice]] = field(default_factory=dict)
    told: Mapping[ClaimUid, Sequence[MissingDevice]] = field(default_factory=dict)
    over: frozenset[ClaimUid] = frozenset()


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


def running_repairs(census: Census, seen: Seen, boot_id: str) -> tuple[RunningRepair, ...]:
    """Return the repairs of one look while the plugin runs, at most one for each claim.

    A claim that is being undone is tried again by ``plugin.claim.parked``: nothing is due for it here. Of a
    claim in quarantine nothing is undone before no pod has it.
    """
    ended = (one.uid for one in census.quarantined if one.uid in seen.over and not one.is_too_new)
    return (
        *(End(uid) for uid in ended),
        *_of_running(census.records, seen, boot_id),
        *(Sweep(uid) for uid in sorted(_ownerless(census, seen.documents))),
    )


def _of_running(records: Iterable[Record], seen: Seen, boot_id: str) -> Iterator[RunningRepair]:
    for record in records:
        uid = record.uid
        missing = seen.missing.get(uid)  # None where the hardware cannot be read: then nothing is known
        if record.boot_id != boot_id:
            yield Forget(uid)
        elif record.state is State.STARTED:
            yield Undo(uid)
        elif record.state is not State.COMPLETED:
            continue
        elif uid in seen.over:
            yield End(uid)
        elif missing is not None and tuple(missing) != tuple(seen.told.get(uid, ())):
            yield Tell(uid)
        elif missing is not None and not missing and uid in seen.altered:
            yield Rewrite(uid)


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
