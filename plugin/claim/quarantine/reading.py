"""Reads the file of one record and says whether it can be believed.

Takes a path and the folder of CDI documents; returns a reading, or why the claim is in quarantine. Nothing is
changed, and no lock is needed. The document of a claim is written after the line that says that the claim is
completed. So a record that says less, and has a document, was cut.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from plugin.base import files
from plugin.base.errors import RecordTooNew, StorageFailed
from plugin.cdi.folder import CdiFolder
from plugin.claim.quarantine.evidence import evidence
from plugin.claim.quarantine.quarantined import CUT, LOST, Quarantined
from plugin.claim.record_format import Corrupt, Reading, decode
from plugin.claim.states import State
from scheduler_core.model.claim import ClaimUid

ASIDE: Final = ".corrupt"
"""The end of the name of a file that was set aside."""


def aside_of(path: Path) -> Path:
    """Return where a record's file is set aside."""
    return path.with_name(path.name + ASIDE)


def read(path: Path, uid: ClaimUid, cdi: CdiFolder | None) -> Reading | Quarantined | None:
    """Return what a claim's file says, None without a record; or why it cannot be believed.

    Shape: ``cdi`` None where nobody looks for a record that was cut.
    Raises: StorageFailed for what says nothing of the file, as too many open files.
    """
    found = _read_once(path, uid, cdi)
    if isinstance(found, Quarantined) and found.why == CUT:
        # Without its lock a claim may have gone on between the look at its record and that at its document.
        return _read_once(path, uid, cdi)
    return found


def lost(path: Path, uid: ClaimUid, cdi: CdiFolder | None) -> Quarantined | None:
    """Return what a claim may hold whose document names devices and that has no file, else None.

    Prepare writes the record before the document, and the document goes before the record: somebody else
    removed the file.
    """
    if cdi is None or files.exists(path):
        return None
    found = _quarantined(uid, LOST, b"", cdi)
    return found if found.told and not files.exists(path) else None


def _read_once(path: Path, uid: ClaimUid, cdi: CdiFolder | None) -> Reading | Quarantined | None:
    try:
        data = files.read(path)
    except StorageFailed as error:
        if files.is_passing(error):
            raise
        return _quarantined(uid, f"it cannot be read: {error.reason}", b"", cdi)
    if not data:
        return _without_lines(path, uid, cdi, is_empty=data is not None)
    try:
        reading = decode(data, uid)
    except Corrupt as problem:
        return _quarantined(uid, str(problem), data, cdi)
    except RecordTooNew as problem:
        return _quarantined(uid, problem.reason, data, cdi, is_too_new=True)
    if reading.record.state is State.STARTED and cdi is not None and cdi.has(uid):
        return _quarantined(uid, CUT, data, cdi)
    return reading


def _without_lines(path: Path, uid: ClaimUid, cdi: CdiFolder | None, *, is_empty: bool) -> Quarantined | None:
    """Judge a claim whose file is empty or missing. With a document it had more than that."""
    if cdi is None or not cdi.has(uid):
        return None
    if is_empty:
        return _quarantined(uid, CUT, b"", cdi)
    aside = aside_of(path)
    if not files.exists(aside):
        return None  # see ``lost``: the claim itself may be prepared again
    try:
        data = files.read(aside) or b""
    except StorageFailed:
        data = b""
    return _quarantined(uid, f"it was renamed to {aside.name}", data, cdi)


def _quarantined(
    uid: ClaimUid, why: str, data: bytes, cdi: CdiFolder | None, *, is_too_new: bool = False
) -> Quarantined:
    told = {} if cdi is None else cdi.devices(uid)
    return Quarantined(uid=uid, why=why, known=evidence(data, uid), told=told, is_too_new=is_too_new)
