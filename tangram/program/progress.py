"""Says on a terminal how far a long input has been read, and takes that away again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tangram.program.streams import is_for_programs

_LONG: Final = 2 * 2**20  # characters; shorter input is read in half a second


@contextmanager
def reading(name: str, length: int) -> Iterator[Callable[[int], None] | None]:
    """Give what is told how many characters have been read, None where nobody would see it."""
    stream = sys.stderr
    if length < _LONG or stream is None or not stream.isatty() or is_for_programs():
        yield None
        return
    widest = 0

    def tell(read: int) -> None:
        nonlocal widest
        line = f"tangram: reading {name}: {100 * read // length} %"
        widest = max(widest, len(line))
        stream.write(f"\r{line}")
        stream.flush()

    tell(0)
    try:
        yield tell
    finally:
        stream.write(f"\r{' ' * widest}\r")
        stream.flush()
