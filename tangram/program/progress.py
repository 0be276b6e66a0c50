"""Says on a terminal how far something long has come, and takes that away again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tangram.program.streams import is_for_programs

_LONG: Final = 2 * 2**20  # characters; shorter input is read in half a second


@contextmanager
def reading(name: str, length: int) -> Iterator[Callable[[int], None] | None]:
    """Give what is told how many characters have been read, None where nobody would see it."""
    if length < _LONG or not _is_seen():
        yield None
        return
    with _line() as write:

        def tell(read: int) -> None:
            write(f"reading {name}: {100 * read // length} %")

        tell(0)
        yield tell


@contextmanager
def simulating(policies: Sequence[str], arrivals: int) -> Iterator[Callable[[str, int], None]]:
    """Give what is told how many arrivals the simulation of a policy has seen."""
    if not _is_seen():
        yield lambda _policy, _seen: None
        return
    with _line() as write:
        seen = dict.fromkeys(policies, 0)

        def follow(policy: str, count: int) -> None:
            seen[policy] = count
            parts = ", ".join(f"{name} {100 * one // arrivals} %" for name, one in seen.items())
            write(f"simulating: {parts}")

        yield follow


def _is_seen() -> bool:
    """Whether somebody looks at standard error."""
    return sys.stderr is not None and sys.stderr.isatty() and not is_for_programs()


@contextmanager
def _line() -> Iterator[Callable[[str], None]]:
    """Give what writes one line in the place of the last one. In the end it is empty."""
    stream, widest = sys.stderr, 0

    def write(text: str) -> None:
        nonlocal widest
        line = f"tangram: {text}"
        widest = max(widest, len(line))
        stream.write(f"\r{line}")
        stream.flush()

    try:
        yield write
    finally:
        if widest:
            stream.write(f"\r{' ' * widest}\r")
            stream.flush()
