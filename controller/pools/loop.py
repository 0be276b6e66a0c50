"""Keeps the pools that no node owns published, in a thread of its own, while this replica leads.

Two watches wake it. A turn that failed is repeated after a time that grows, and one that waits for nodes and
claims soon. Slices stay when it ends: running pods and claims need them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Protocol

from controller.pools.publisher import PoolPublisher, Turn
from daemon.backoff import Backoff
from scheduler_core.publishing.documents import Document

_log = logging.getLogger("controller.pools")
_LONGEST_WAIT_S = 300.0
_NOT_INSTALLED_S = 60.0


class Watched(Protocol):
    """Objects of one kind, kept by a watch."""

    @property
    def is_synced(self) -> bool:
        """Whether all objects were listed once."""
        ...

    def documents(self) -> tuple[Document, ...]:
        """Return the objects as far as they are known."""
        ...

    def follow(self, stop: Event) -> Iterator[str]:
        """Keep them up to date until ``stop`` is set; yield what went wrong, empty for an event."""
        ...


class PoolLoop:
    """The loop.

    Shape: ``is_installed`` whether the server has the kind of the objects; it is asked until it has.
    Units: ``now`` returns a time stamp of the API.
    """

    def __init__(
        self,
        publisher: PoolPublisher,
        objects: Watched,
        slices: Watched,
        now: Callable[[], str],
        is_installed: Callable[[], bool] = lambda: True,
    ) -> None:
        self._publisher = publisher
        self._objects = objects
        self._slices = slices
        self._now = now
        self._is_installed = is_installed
        self._stop = Event()
        self._wake = Event()
        self._backoff = Backoff(most=_LONGEST_WAIT_S)

    def stop(self) -> None:
        """End the loop soon. Nothing is written after ``run`` has returned."""
        self._stop.set()
        self._wake.set()

    def run(self) -> None:
        """Publish until ``stop`` is called."""
        while not self._is_installed():
            if self._stop.wait(_NOT_INSTALLED_S):
                return
        watches = [
            Thread(target=self._watch, args=(one,), name="pools-watch", daemon=True)
            for one in (self._objects, self._slices)
        ]
        for watch in watches:
            watch.start()
        wait_s: float | None = None
        while not self._stop.is_set():
            self._wake.wait(wait_s)
            self._wake.clear()
            is_listed = self._objects.is_synced and self._slices.is_synced
            if is_listed and not self._stop.is_set():
                wait_s = self._turn()
        for watch in watches:
            watch.join()

    def _turn(self) -> float | None:
        """Take a turn; return how long to wait for the next one, None for until something changes."""
        try:
            turn = self._publisher.turn(self._objects.documents(), self._now())
        except Exception as error:  # noqa: BLE001 - the outermost loop of this thread
            _log.exception("multi-node pools were not published; please report this")
            turn = Turn(0, (f"unexpected error: {type(error).__name__}",))
        if not turn.failures:
            self._backoff = Backoff(most=_LONGEST_WAIT_S)
            return turn.again_s
        self._backoff = self._backoff.failed()
        wait_s = min(self._backoff.wait(), turn.again_s or _LONGEST_WAIT_S)
        for text in turn.failures:
            _log.warning("multi-node pools are tried again in %.0f s: %s", wait_s, text)
        return wait_s

    def _watch(self, watched: Watched) -> None:
        for problem in watched.follow(self._stop):
            if problem:
                _log.warning("%s", problem)
            self._wake.set()
