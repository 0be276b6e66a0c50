"""How versions of the plugin before seals read and wrote a record's file, word for word."""

from __future__ import annotations

import hashlib

import msgspec

from plugin.claim.record import Record
from scheduler_core.model.claim import ClaimUid

VERSION = 3


class Corrupt(Exception):
    """The bytes of a file are no record."""


class _Header(msgspec.Struct):
    version: int


class _Stored(msgspec.Struct):
    checksum: str
    claim: msgspec.Raw


def read_before_seals(data: bytes, uid: ClaimUid) -> Record:
    """Read a record's file, of which the last whole line counts."""
    *lines, _cut_off = data.split(b"\n")
    if not lines:
        raise Corrupt("it has no whole line")
    line = lines[-1]
    try:
        version = msgspec.json.decode(line, type=_Header).version
        if version > VERSION:
            raise Corrupt(f"it has version {version}")
        stored = msgspec.json.decode(line, type=_Stored)
        if hashlib.sha256(bytes(stored.claim)).hexdigest() != stored.checksum:
            raise Corrupt("its checksum does not match its content")
        record = msgspec.json.decode(stored.claim, type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corrupt(str(error)) from error
    if record.uid != uid:
        raise Corrupt(f"it is the record of claim {record.uid}")
    return record


def line_before_seals(record: Record) -> bytes:
    """Return a record's line as those versions wrote it."""
    payload = msgspec.json.encode(record)
    version = max((device.record_version for device in record.devices), default=1)
    checksum = hashlib.sha256(payload).hexdigest()
    return f'{{"version":{version},"checksum":"{checksum}","claim":'.encode() + payload + b"}\n"
