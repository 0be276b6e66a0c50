"""PURE: a record to a line of its file, and a file to what its lines say.

A line holds a version, the SHA-256 of the stored bytes of the record, the record, and a seal: the SHA-256
of the seal of the line before it and of all bytes of this line before its own seal. So every byte that is
read is covered, and a line that is lost, doubled or moved is noticed. Both sums are of the stored bytes, so
they do not depend on how this version of the program would write the record.

Versions of this program before seals read these lines too, since they look for the other members only; the
lines that they write have no seal and stay readable here (docs/decisions/0069-damaged-records.md). The first
versions wrote one record over several lines, which stands for the first line of a file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec

from agent.inventory.foreign.record_lines import HEAD, digest
from plugin.base.errors import RecordTooNew
from plugin.claim.record import Record
from scheduler_core.model.claim import ClaimUid

VERSION: Final = 4
"""The highest version that this program reads.

2 knows several GPUs; 3 admin access, shares, NICs and the fabric manager; 4 GUIDs of InfiniBand VFs.
"""
START: Final = ""
"""What the first line of a file follows."""
_OVER_LINES: Final = re.compile(HEAD.pattern + rb"\{\n.*?\n\}\}(?=\n)", re.DOTALL)
"""How the first versions wrote a record."""
_SEAL: Final = re.compile(rb',"seal":"([0-9a-f]{64})"\}')
_SEAL_LENGTH: Final = len(',"seal":""}') + 64


class Corrupt(Exception):
    """The bytes of a file are no record; the text says why."""


class _Header(msgspec.Struct):
    version: int


_HEADERS: Final = msgspec.json.Decoder(_Header)
_RECORDS: Final = msgspec.json.Decoder(Record)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file says of which every line is sound.

    Shape: ``record`` of the last whole line, ``seal`` which the next line has to follow; ``has_end`` whether
           the last whole line ends with its newline.
    Units: ``length`` bytes of the whole lines; ``torn`` those behind them, cut off by the end of a process.
    """

    record: Record
    seal: str
    has_end: bool
    length: int
    torn: int


@dataclass(frozen=True, slots=True)
class _Line:
    claim: bytes
    seal: str


def encode(record: Record, before: str = START) -> bytes:
    """Return a record's line. Shape: ``before`` the seal of the line before it."""
    payload = msgspec.json.encode(record)
    head = f'{{"version":{_least_version(record)},"checksum":"{digest(payload)}","claim":'
    covered = head.encode() + payload
    return covered + f',"seal":"{digest(before.encode() + covered)}"}}\n'.encode()


def seal_of(line: bytes) -> str:
    """Return the seal of a line that ``encode`` made."""
    return line[-len('"}\n') - 64 : -len('"}\n')].decode()


def _least_version(record: Record) -> int:
    """Return the lowest version that can express a record, so that an older plugin can still read it."""
    return max((device.record_version for device in record.devices), default=1)


@lru_cache(maxsize=16)  # claims of one call read each other's records while these grow, with the same bytes
def decode(data: bytes, uid: ClaimUid) -> Reading:
    """Read a record's file, of which the last whole line counts.

    A last line that is whole but for its newline is a whole line; one that is no complete JSON object was cut
    off by the end of a process and counts as not written.
    Raises: Corrupt naming the line; RecordTooNew for a version that this program does not know.
    """
    lines, rest = _lines(data)
    has_end, torn = True, len(rest)
    if _is_complete(rest):
        lines, has_end, torn = [*lines, rest], False, 0
    if not lines:
        raise Corrupt("it has no whole line")
    line = _Line(b"", START)
    for number, text in enumerate(lines, start=1):
        line = _checked(text, number, line.seal, uid)
    record = _record(line.claim, len(lines), uid)
    return Reading(record, line.seal, has_end, len(data) - torn, torn)


def _lines(data: bytes) -> tuple[list[bytes], bytes]:
    """Return the lines of a file, without their newlines, and what stands behind the last newline."""
    first = _OVER_LINES.match(data)
    begin = 0 if first is None else first.end() + 1
    *lines, rest = data[begin:].split(b"\n")
    return lines if first is None else [first[0], *lines], rest


def _checked(text: bytes, number: int, before: str, uid: ClaimUid) -> _Line:
    head, end = HEAD.match(text), _SEAL.fullmatch(text, max(len(text) - _SEAL_LENGTH, 0))
    if head is None or not text.endswith(b"}"):
        _refuse_unknown_form(text, uid)
        raise Corrupt(f"line {number} has not the form of a record")
    version, claim = int(head[1]), text[head.end() : end.start() if end else -1]
    if digest(claim) != head[2].decode():
        raise Corrupt(f"line {number}: its checksum does not match its content")
    if end is None:  # of a version before seals, which none of them is newer than
        if version > VERSION:
            raise Corrupt(f"line {number} has version {version}, and no seal")
        return _Line(claim, digest(before.encode() + text))
    if digest(before.encode() + text[: end.start()]) != end[1].decode():
        raise Corrupt(f"line {number}: its seal does not match its content and the line before it")
    if version > VERSION:
        raise _too_new(version, uid)
    return _Line(claim, end[1].decode())


def _record(claim: bytes, number: int, uid: ClaimUid) -> Record:
    try:
        record = _RECORDS.decode(claim)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corrupt(f"line {number}: {error}") from error
    if record.uid != uid:
        raise Corrupt(f"it is the record of claim {record.uid}")
    return record


def _refuse_unknown_form(text: bytes, uid: ClaimUid) -> None:
    """Raise RecordTooNew where a line has another form, and says that it is newer."""
    try:
        version = _HEADERS.decode(text).version
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    if version > VERSION:
        raise _too_new(version, uid)


def _too_new(version: int, uid: ClaimUid) -> RecordTooNew:
    reason = f"it has version {version}; this plugin reads versions up to {VERSION}"
    error = RecordTooNew("read", f"the record of claim {uid}", reason)
    error.claim_uid = uid
    return error


def _is_complete(rest: bytes) -> bool:
    """Whether what stands behind the last newline has a whole JSON object, so that it was not cut off."""
    if not rest:
        return False
    try:
        json.JSONDecoder().raw_decode(rest.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return True
