"""Cuts JSON text into the parts of its outermost object or list, without decoding them.

A decoder gives up on the whole text where one value is nested too deeply. Here nesting is only counted, so
the other values can still be decoded one by one. Time is linear in the text. Text that is not JSON gives
parts that are not JSON: the decoder of a part says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

# A string that does not end matches as far as the text goes: otherwise each of its quotes is tried again.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]', re.DOTALL)
NO_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError)
"""What msgspec raises for text that is no JSON, but for RecursionError where it is nested too deeply."""
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"


def members(text: bytes) -> dict[str, bytes]:
    """Return the members of a JSON object as text, by key; of one that is cut, those that are whole."""
    found: dict[str, bytes] = {}
    for start, colon, end in _cuts(text):
        if colon is not None and (key := _string(text[start:colon])) is not None:
            found[key] = text[colon + 1 : end].strip()
    return found


def elements(text: bytes) -> list[bytes]:
    """Return the elements of a JSON list as text, in order; of one that is cut, those that are whole."""
    found = [text[start:end].strip() for start, _, end in _cuts(text)]
    return [] if found == [b""] else found


def _cuts(text: bytes) -> Iterator[tuple[int, int | None, int]]:
    """Yield where each part starts, where its first colon is and where it ends."""
    depth, start, colon = 0, 0, None
    for token in _TOKEN.finditer(text):
        mark, at = text[token.start()], token.start()
        if mark in _OPENING:
            depth += 1
            start = at + 1 if depth == 1 else start
        elif mark in _CLOSING:
            depth -= 1
            if depth == 0:
                yield start, colon, at
                return
        elif depth == 1 and mark == ord(","):
            yield start, colon, at
            start, colon = at + 1, None
        elif depth == 1 and mark == ord(":") and colon is None:
            colon = at


def _string(text: bytes) -> str | None:
    try:
        return msgspec.json.decode(text, type=str)
    except NO_JSON:
        return None
