"""A watch that records times: when did an object first meet a condition?

A thread of its own receives the changes and records when each arrived. Every wait is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Final

from tangram.bench.cluster_port import Bench, Document
from tangram.errors import BadInput

LIMIT_S: Final = 120.0
Arrival = tuple[float, str, Document | None]


class Follower:
    """Stamped changes in the order of their arrival."""

    def __init__(self, bench: Bench) -> None:
        self._clock = bench.clock
        self._arrived: SimpleQueue[Arrival] = SimpleQueue()

    def take(self, changes: Iterator[tuple[str, Document | None]]) -> None:
        """Stamp changes until there are no more."""
        for name, document in changes:
            self._arrived.put((self._clock(), name, document))

    def until(
        self, is_wanted: Callable[[str, Document | None], bool], what: str, limit_s: float = LIMIT_S
    ) -> float:
        """Return when the first change that is wanted arrived.

        Units:  seconds of the clock.
        Raises: BadInput where none came in time.
        """
        at = self.within(is_wanted, limit_s)
        if at is None:
            raise BadInput(f"waited {limit_s:.0f} s in vain: {what}")
        return at

    def within(self, is_wanted: Callable[[str, Document | None], bool], limit_s: float) -> float | None:
        """Return when the first change that is wanted arrived, None where none came in time.

        Units: seconds of the clock.
        """
        end = self._clock() + limit_s
        while True:
            try:
                at, name, document = self._arrived.get(timeout=max(0.0, end - self._clock()))
            except Empty:
                return None
            if is_wanted(name, document):
                return at


@contextmanager
def following(bench: Bench, kind: str, fields: str = "", namespace: str = "") -> Iterator[Follower]:
    """Watch objects of a kind while the block is open."""
    stop, follower = Event(), Follower(bench)
    changes = bench.cluster.changes(kind, stop, fields, namespace)
    thread = Thread(target=follower.take, args=(changes,), name=f"watch {kind}", daemon=True)
    thread.start()
    try:
        yield follower
    finally:
        stop.set()
        thread.join(5.0)
