"""PURE: a record to a line of its file, and a file to the record of its last whole line.

A line holds a version, the SHA-256 of the stored bytes of the record, and the record. The checksum is of the
stored bytes, so it does not depend on how this version of the program would write the record.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from plugin.base.errors import RecordTooNew
from plugin.claim.record import Record
from scheduler_core.model.claim import ClaimUid

VERSION: Final = 3
"""The highest version that this program reads.

2 knows several GPUs; 3 admin access, shares, NICs and the fabric manager.
"""


class Corrupt(Exception):
    """The bytes of a file are no record; the text says why."""


class _Header(msgspec.Struct):
    version: int


class _Stored(msgspec.Struct):
    checksum: str
    claim: msgspec.Raw


def encode(record: Record) -> bytes:
    """Return a record's line."""
    payload = msgspec.json.encode(record)
    head = f'{{"version":{_least_version(record)},"checksum":"{_digest(payload)}","claim":'
    return head.encode() + payload + b"}\n"


def _least_version(record: Record) -> int:
    """Return the lowest version that can express a record, so that an older plugin can still read it."""
    return max((device.record_version for device in record.devices), default=1)


def decode(data: bytes, uid: ClaimUid) -> Record:
    """Read a record's file, of which the last whole line counts.

    Raises: Corrupt; RecordTooNew for a version that this program does not know.
    """
    *lines, _cut_off = data.split(b"\n")
    if not lines:
        raise Corrupt("it has no whole line")
    return _decode_line(lines[-1], uid)


def _decode_line(data: bytes, uid: ClaimUid) -> Record:
    try:
        version = msgspec.json.decode(data, type=_Header).version
        if version > VERSION:
            reason = f"it has version {version}; this plugin reads versions up to {VERSION}"
            error = RecordTooNew("read", f"the record of claim {uid}", reason)
            error.claim_uid = uid
            raise error
        stored = msgspec.json.decode(data, type=_Stored)
        if _digest(bytes(stored.claim)) != stored.checksum:
            raise Corrupt("its checksum does not match its content")
        record = msgspec.json.decode(stored.claim, type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corrupt(str(error)) from error
    if record.uid != uid:
        raise Corrupt(f"it is the record of claim {record.uid}")
    return record


def _digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()
