"""PURE: the file that keeps a node's numbers, as bytes.

Every byte is checked: a file is sound only if it is exactly what would be written for what it says, and its
checksum is right. The fields are the format on disk.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from agent.hardware.types import normal_bdf
from agent.inventory.numbers.numbering import LAST_NUMBER, Numbers

VERSION: Final = 1
MOST_BYTES: Final = 64 * 1024
"""Far more than a node's GPUs need."""
_CHECKSUM: Final = "checksum"


class Damaged(Exception):
    """The bytes are no sound file of this node's numbers; the text says what is wrong."""


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shape: ``gpus`` the number of each address; ``checksum`` SHA-256 of the file with an empty one."""

    version: int
    node: str
    gpus: dict[str, int]
    checksum: str


_FILES: Final = msgspec.json.Decoder(_File)


def encode(node: str, numbers: Numbers) -> bytes:
    """Return the file of a node. Shape: GPUs by number, one a line, for people who read it."""
    by_number = {str(bdf): number for bdf, number in sorted(numbers.items(), key=lambda each: each[1])}
    unsigned = _File(version=VERSION, node=node, gpus=by_number, checksum="")
    digest = hashlib.sha256(_text(unsigned)).hexdigest()
    return _text(msgspec.structs.replace(unsigned, checksum=digest))


def decode(node: str, data: bytes) -> Numbers:
    """Return the numbers that a file of this node says. Raises: Damaged."""
    try:
        found = _FILES.decode(data)
        numbers = {normal_bdf(bdf): number for bdf, number in found.gpus.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        raise Damaged(str(error)) from error
    if found.version != VERSION:
        raise Damaged(f"it has version {found.version}, and this program reads version {VERSION}")
    if found.node != node:
        raise Damaged(f"it is of node {found.node!r}")
    _refuse_numbers(numbers)
    if encode(node, numbers) != data:
        raise Damaged("its checksum or its form is wrong")
    return numbers


def _refuse_numbers(numbers: Numbers) -> None:
    if len(set(numbers.values())) < len(numbers):
        raise Damaged("two addresses have one number")
    wrong = [number for number in numbers.values() if not 0 <= number <= LAST_NUMBER]
    if wrong:
        raise Damaged(f"number {wrong[0]} is not between 0 and {LAST_NUMBER}")


def _text(file: _File) -> bytes:
    return msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n"
