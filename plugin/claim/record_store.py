"""The durable records of claims: one file per claim, readable with ``cat`` and ``jq``.

Each line of a file is the record in one more state, and the last whole line counts:
text after the last newline was cut off by the end of a process. Any other file that cannot be read is set
aside and logged; it never stops the plugin. Writers of one claim exclude each other by its lock; readers need
none.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from plugin.base import files
from plugin.base.claim_uid import is_uid
from plugin.base.errors import RecordTooNew
from plugin.claim.record import Record
from plugin.claim.record_format import Corrupt, decode, encode
from plugin.claim.states import State
from scheduler_core.model.claim import ClaimUid

_SUFFIX: Final = ".json"
_ASIDE: Final = ".corrupt"
_MODE: Final = 0o600
# Bytes. A longer file is replaced by its last line. A claim of eight MIG partitions does not reach it.
_LONGEST: Final = 64 * 1024
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """All records at one moment.

    Shape: ``records`` by claim UID; ``corrupt`` the claims whose file cannot be read; ``too_new`` one error
           per
           file of a newer version; ``set_aside`` the claims with a renamed corrupt file; ``unfinished`` those
           with a temporary or an empty file. A claim may be in several of them.
    """

    records: tuple[Record, ...] = ()
    corrupt: tuple[ClaimUid, ...] = ()
    too_new: tuple[RecordTooNew, ...] = ()
    set_aside: tuple[ClaimUid, ...] = ()
    unfinished: tuple[ClaimUid, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordStore:
    """The records in one folder.

    Records of completed claims are cached as long as their files stay the same: every prepare reads all of
    them.
    """

    folder: Path
    _completed: dict[ClaimUid, tuple[tuple[int, ...], Record]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def load(self, uid: ClaimUid) -> Record | None:
        """Return a claim's record, None without one. A corrupt file is renamed and counts as none.

        The caller holds the claim's lock. Raises: RecordTooNew, StorageFailed.
        """
        path = self._path(uid)
        data = files.read(path)
        if not data:  # a power cut before anything was done for the claim leaves an empty file
            return None
        try:
            record = decode(data, uid)
        except Corrupt as problem:
            self._set_aside(uid, problem)
            return None
        whole = data.rindex(b"\n") + 1
        if whole < len(data):  # the next record must begin a new line
            files.shorten(path, whole)
        return record

    def peek(self, uid: ClaimUid) -> tuple[Record | None, float]:
        """Return a claim's record and when it was written. Needs no lock and changes nothing.

        Units: seconds since 1970, 0 without a record. Raises: RecordTooNew, StorageFailed.
        """
        path = self._path(uid)
        data = files.read(path)
        try:
            return (None, 0.0) if not data else (decode(data, uid), path.stat().st_mtime)
        except (Corrupt, FileNotFoundError):
            return None, 0.0

    def save(self, record: Record) -> None:
        """Write the first record of a claim. It survives a power cut.

        The caller holds the claim's lock. Raises: StorageFailed.
        """
        files.replace(self._path(record.uid), encode(record), _MODE, synced=True)

    def note(self, record: Record) -> None:
        """Append a later record of a claim that has been saved. It survives the end of this process.

        It need not survive a power cut: no instance does either, so the first record is enough then.
        The caller holds the claim's lock. Raises: StorageFailed.
        """
        path, line = self._path(record.uid), encode(record)
        if files.append(path, line, _MODE) > _LONGEST:
            files.replace(path, line, _MODE, synced=False)

    def remove(self, uid: ClaimUid) -> None:
        """Remove a claim's record. The caller holds the claim's lock. Raises: StorageFailed."""
        files.remove(self._path(uid))

    def census(self) -> Census:
        """Read all records and change nothing. Raises: StorageFailed."""
        records, corrupt, too_new, empty = [], [], [], []
        listed = files.names(self.folder)
        for gone in self._completed.keys() - set(_uids(listed, _SUFFIX)):
            self._completed.pop(gone, None)
        for uid in _uids(listed, _SUFFIX):
            try:
                match self._look(uid):
                    case Record() as record:
                        records.append(record)
                    case b"":
                        empty.append(uid)
                    case _:
                        pass  # it was removed since the folder was listed
            except Corrupt:
                corrupt.append(uid)
            except RecordTooNew as error:
                too_new.append(error)
        temporary = (files.original_name(name) for name in listed)
        return Census(
            records=tuple(records),
            corrupt=tuple(corrupt),
            too_new=tuple(too_new),
            set_aside=_uids(listed, _SUFFIX + _ASIDE),
            unfinished=(*_uids((name for name in temporary if name), _SUFFIX), *empty),
        )

    def _look(self, uid: ClaimUid) -> Record | bytes | None:
        """Return a claim's record, empty bytes for an empty file, None without one.

        Raises: Corrupt, RecordTooNew, StorageFailed.
        """
        path = self._path(uid)
        identity = files.identity(path)
        known = self._completed.get(uid)
        if known is not None and known[0] == identity:
            return known[1]
        data = files.read(path)
        if not data:
            return data
        record = decode(data, uid)
        # Only these: a file that still changes may change twice within the resolution of its times.
        if identity is not None and record.state is State.COMPLETED:
            self._completed[uid] = identity, record
        else:
            self._completed.pop(uid, None)
        return record

    def _path(self, uid: ClaimUid) -> Path:
        return self.folder / f"{uid}{_SUFFIX}"

    def _set_aside(self, uid: ClaimUid, problem: Corrupt) -> None:
        path = self._path(uid)
        aside = path.with_name(path.name + _ASIDE)
        files.move(path, aside)
        _log.error(
            "claim %s: its record cannot be read (%s) and its file was renamed to %s; "
            "the operator checks the disk and destroys the instances that the claim left",
            uid,
            problem,
            aside,
        )


def _uids(names: Iterable[str], suffix: str) -> tuple[ClaimUid, ...]:
    stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return tuple(ClaimUid(stem) for stem in stems if is_uid(stem))
