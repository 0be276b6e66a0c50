"""PURE: the outer form of the lines in which the plugin writes the records of claims.

A line begins with a version and the SHA-256 of the stored bytes of the record, and the record follows. The
plugin reads whole files and believes them only where every line follows the one before it; the agent wants to
know no more than which instances claims have.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Final

HEAD: Final = re.compile(rb'\{"version": ?([0-9]{1,9}), ?"checksum": ?"([0-9a-f]{64})",\n?"claim": ?')
"""How a line begins: its version, and the checksum of the record. The first versions wrote several lines."""


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def sound_records(data: bytes) -> Iterator[bytes]:
    """Yield the stored bytes of each record whose own checksum is right, wherever it stands."""
    for head in HEAD.finditer(data):
        text = data[head.end() :].decode("utf-8", "surrogateescape")
        try:
            _, length = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            continue
        claim = text[:length].encode("utf-8", "surrogateescape")
        if digest(claim) == head[2].decode():
            yield claim
