"""Remembers decoded parts of slices by their content, because a few parts are repeated thousands of times.

Only accepted parts are remembered, so a refusal always names the place of the part. Equal parts are decoded
to one object, so a comparison can test for identity first.
"""

from __future__ import annotations

import marshal
from collections.abc import Hashable
from typing import Any, Generic, TypeVar, cast

_Value = TypeVar("_Value")


class Decoded(Generic[_Value]):
    """Values by what they were decoded from. Shape: at most ``most`` are kept, then it starts afresh."""

    __slots__ = ("_kept", "_most", "get")

    def __init__(self, most: int) -> None:
        self._kept: dict[Hashable, _Value] = {}
        self._most = most
        self.get = self._kept.get

    def put(self, key: Hashable, value: _Value) -> _Value:
        """Keep a value and return it."""
        if len(self._kept) >= self._most:
            self._kept.clear()
        self._kept[key] = value
        return value


def content(part: object) -> bytes | None:
    """Return bytes that no other part has, None for what no JSON document holds.

    True, 1 and 1.0 are different parts here, as they are to a decoder.
    """
    try:
        return marshal.dumps(
            cast("Any", part), 2
        )  # from version 3 on the bytes depend on which objects are shared
    except ValueError:
        return None
