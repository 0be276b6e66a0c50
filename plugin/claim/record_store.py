"""The durable records of claims: one file per claim, readable with ``cat`` and ``jq``.

Each line of a file is the record in one more state, and the last whole line counts:
text after the last newline was cut off by the end of a process. A file of which not every line is sound, or
that cannot be read, puts its claim in quarantine: nothing is undone by it, and nobody else gets what it may
hold (docs/decisions/0070-quarantine.md). Writers of one claim exclude each other by its lock; readers need
none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from plugin.base import files
from plugin.base.claim_uid import is_uid
from plugin.base.errors import NotQuarantined, RecordDamaged, StorageFailed
from plugin.cdi.folder import CdiFolder
from plugin.claim.quarantine.census import Census
from plugin.claim.quarantine.evidence import Evidence
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.quarantine.reading import ASIDE, aside_of, lost, read
from plugin.claim.record import Record
from plugin.claim.record_format import Corrupt, Reading, decode, encode, seal_of
from plugin.claim.states import State
from scheduler_core.model.claim import ClaimUid

_SUFFIX: Final = ".json"
_MODE: Final = 0o600
# Bytes. A longer file is replaced by its last line. A claim of eight MIG partitions does not reach it.
_LONGEST: Final = 64 * 1024
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Known:
    """The record of a completed claim as it was last read.

    Shape: ``identity`` of its file then, as ``files.identity``; ``seal`` the checksum of its last line.
    """

    identity: tuple[int, ...]
    record: Record
    seal: str


@dataclass(frozen=True, slots=True)
class RecordStore:
    """The records in one folder.

    Records of completed claims are cached as long as their files stay the same: every prepare reads all of
    them, and the end of a claim its own.
    Shape: ``cdi`` has the documents of the claims; without it a record whose end is missing is not noticed.
    """

    folder: Path
    cdi: CdiFolder | None = None
    _completed: dict[ClaimUid, _Known] = field(default_factory=dict, init=False, repr=False, compare=False)
    # Which line the next one of a claim follows, as long as this process knows it.
    _seals: dict[ClaimUid, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    # Claims whose files were found to be gone although they had not ended.
    _lost: set[ClaimUid] = field(default_factory=set, init=False, repr=False, compare=False)

    def load(self, uid: ClaimUid) -> Record | None:
        """Return a claim's record, None without one, and make its file ready for the next line.

        The caller holds the claim's lock. Raises: RecordDamaged, RecordTooNew; StorageFailed.
        """
        known = self._unchanged(uid, self._identity(uid)) if uid in self._completed else None
        if known is not None:
            self._seals[uid] = known.seal
            return known.record
        found = self._read(uid)
        self._seals.pop(uid, None)
        if isinstance(found, Quarantined):
            raise found.error
        if found is None:  # a power cut before anything was done for the claim leaves an empty file
            return None
        if found.torn:  # the next record must begin a new line
            files.shorten(self._path(uid), found.length)
        elif not found.has_end:
            files.append(self._path(uid), b"\n", _MODE)
        self._seals[uid] = found.seal
        return found.record

    def quarantined(self, uid: ClaimUid) -> Quarantined | None:
        """Return why a claim's record cannot be believed, None where it can, or where there is none.

        Changes nothing. Raises: StorageFailed.
        """
        found = self._read(uid)
        return found if isinstance(found, Quarantined) else None

    def load_to_end(
        self, uid: ClaimUid, completed: Callable[[Quarantined], Quarantined] = lambda found: found
    ) -> Record | None:
        """Return a claim's record so that the claim can be undone, as its pod is gone; None without one.

        A quarantine ends with that, also that of a claim whose record is gone.
        Shape: ``completed`` adds what else is known of a claim in quarantine.
        The caller holds the claim's lock. Raises: RecordTooNew; StorageFailed; whatever ``completed`` raises.
        """
        with suppress(RecordDamaged):
            record = self.load(uid)
            if record is not None:
                return record
        found = self.quarantined(uid) or lost(self._path(uid), uid, self.cdi)
        return self.load(uid) if found is None else self.end_quarantine(completed(found))

    def releasable(self, uid: ClaimUid) -> Quarantined:
        """Return a claim that an operator may release: in quarantine, or half undone since it was.

        Changes nothing. Raises: NotQuarantined, StorageFailed.
        """
        found = self._read(uid) or lost(self._path(uid), uid, self.cdi)
        if isinstance(found, Quarantined):
            return found
        if found is not None and found.record.state is State.UNDOING:
            record = found.record
            known = Evidence(record, frozenset(), record.ref, record.boot_id)
            return Quarantined(uid=uid, why="it is half undone", known=known)
        reason = f"no record of it in {self.folder} is in quarantine"
        remedy = "tangram plugin release lists those that are; other claims end with their pods"
        raise NotQuarantined("release", f"claim {uid}", reason, remedy)

    def end_quarantine(self, found: Quarantined) -> Record | None:
        """Set a file aside that cannot be believed; what its sound lines say is the claim's record again.

        The claim is then to be undone, so nobody may use its devices any more. Returns that record, None
        where no sound line says what the claim has. A claim that is half undone keeps its record.
        The caller holds the claim's lock. Raises: StorageFailed.
        """
        path, aside = self._path(found.uid), aside_of(self._path(found.uid))
        if files.exists(path) and self.quarantined(found.uid) is None:
            return self.load(found.uid)
        record = found.record.in_state(State.UNDOING) if found.record and found.is_undone_at_end else None
        if files.exists(path) and record is None:
            files.move(path, aside)
        elif files.exists(path):  # one file is there at any moment
            files.replace(aside, files.read(path, unreadable=b"") or b"", _MODE, synced=False)
        _log.warning("%s: its record is now %s (%s); %s", found.text, aside, found.why, found.what_is_left)
        if record is not None:
            self.save(record)
        return record

    def peek(self, uid: ClaimUid) -> tuple[Record | None, float]:
        """Return a claim's record and when it was written. Needs no lock and changes nothing.

        Units: seconds since 1970, 0 without a record. Raises: RecordTooNew, StorageFailed.
        """
        path = self._path(uid)
        data = files.read(path)
        try:
            return (None, 0.0) if not data else (decode(data, uid).record, path.stat().st_mtime)
        except (Corrupt, FileNotFoundError):
            return None, 0.0

    def written_at(self, uid: ClaimUid) -> float | None:
        """Return when the last line of a claim's record was written, None without one.

        Units: seconds since 1970.
        """
        try:
            return self._path(uid).stat().st_mtime
        except OSError:
            return None

    def save(self, record: Record) -> None:
        """Write the first record of a claim. It survives a power cut.

        The caller holds the claim's lock. Raises: StorageFailed.
        """
        line = encode(record)
        files.replace(self._path(record.uid), line, _MODE, synced=True)
        self._seals[record.uid] = seal_of(line)

    def note(self, record: Record) -> None:
        """Append a later record of a claim that has been saved. It survives the end of this process.

        It need not survive a power cut: no instance does either, so the first record is enough then.
        The caller holds the claim's lock. Raises: StorageFailed; RecordUnusable.
        """
        if record.uid not in self._seals:  # a write failed, or another process wrote the lines so far
            self.load(record.uid)
        path, before = self._path(record.uid), self._seals.pop(record.uid)
        line = encode(record, before)
        if files.append(path, line, _MODE) > _LONGEST:
            first = encode(record)
            line = encode(record, seal_of(first))  # twice, so that one damaged byte does not lose all of it
            files.replace(path, first + line, _MODE, synced=False)
        self._seals[record.uid] = seal = seal_of(line)
        if record.state is State.COMPLETED:
            self._keep(record, seal, self._identity(record.uid))

    def remove(self, uid: ClaimUid) -> None:
        """Remove a claim's record. The caller holds the claim's lock. Raises: StorageFailed."""
        self._seals.pop(uid, None)
        self._completed.pop(uid, None)
        files.remove(self._path(uid))

    def census(self, but: ClaimUid | None = None) -> Census:
        """Read all records, or those of all claims but one, and change nothing.

        A claim whose file is gone is found by its document; with ``but``, as before each prepare, only if it
        was found so already. Raises: StorageFailed.
        """
        records, quarantined, empty = [], [], []
        listed = files.names(self.folder)
        named = _uids(listed, _SUFFIX)
        for gone in self._completed.keys() - set(named):
            self._completed.pop(gone, None)
            self._lost.add(gone)
        looked = dict.fromkeys((*named, *_uids(listed, _SUFFIX + ASIDE)))
        if but is None:
            self._lost.update(self._documents())
        self._lost.difference_update(looked)
        for uid in looked:
            if uid == but:
                continue
            match self._look(uid):
                case Record() as record:
                    records.append(record)
                case Quarantined() as found:
                    quarantined.append(found)
                case _ if uid in named:
                    empty.append(uid)  # or it was removed since the folder was listed
                case _:
                    pass
        missing = (self._lost_claim(uid) for uid in tuple(self._lost) if uid != but)
        quarantined += [found for found in missing if found is not None]
        temporary = (files.original_name(name) for name in listed)
        return Census(
            records=tuple(records),
            quarantined=tuple(quarantined),
            unfinished=(*_uids((name for name in temporary if name), _SUFFIX), *empty),
        )

    def _documents(self) -> frozenset[ClaimUid]:
        """Return the claims that have a document, none where that cannot be read."""
        try:
            return frozenset() if self.cdi is None else self.cdi.claims()
        except StorageFailed:
            return frozenset()

    def _lost_claim(self, uid: ClaimUid) -> Quarantined | None:
        """Return what a claim may hold whose file was gone, None where it is back or the claim ended."""
        found = lost(self._path(uid), uid, self.cdi)
        if found is None:
            self._lost.discard(uid)
        return found

    def _look(self, uid: ClaimUid) -> Record | Quarantined | None:
        """Return a claim's record, or why it cannot be believed; None where the file is empty or missing.

        Raises: StorageFailed.
        """
        identity = self._identity(uid)
        known = self._unchanged(uid, identity)
        if known is not None:
            return known.record
        found = self._read(uid)
        if isinstance(found, Reading) and found.has_end and not found.torn:
            self._keep(found.record, found.seal, identity)
        else:
            self._completed.pop(uid, None)
        if isinstance(found, Reading):
            return found.record
        return found

    def _unchanged(self, uid: ClaimUid, identity: tuple[int, ...] | None) -> _Known | None:
        """Return what is known of a completed claim whose file is what it was then."""
        known = self._completed.get(uid)
        return known if known is not None and known.identity == identity else None

    def _keep(self, record: Record, seal: str, identity: tuple[int, ...] | None) -> None:
        # Only these: a file that still changes may change twice within the resolution of its times.
        if identity is not None and record.state is State.COMPLETED:
            self._completed[record.uid] = _Known(identity, record, seal)
        else:
            self._completed.pop(record.uid, None)

    def _identity(self, uid: ClaimUid) -> tuple[int, ...] | None:
        try:
            return files.identity(self._path(uid))
        except StorageFailed:
            return None  # reading it says why

    def _read(self, uid: ClaimUid) -> Reading | Quarantined | None:
        return read(self._path(uid), uid, self.cdi)

    def _path(self, uid: ClaimUid) -> Path:
        return files.within(self.folder, f"{uid}{_SUFFIX}")


def _uids(names: Iterable[str], suffix: str) -> tuple[ClaimUid, ...]:
    stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return tuple(ClaimUid(stem) for stem in stems if is_uid(stem))
