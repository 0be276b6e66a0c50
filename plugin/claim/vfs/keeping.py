"""Keeps the number of VFs on a thread of its own, so that neither a start nor a claim waits for it.

It looks when it begins, when a claim ended, and once a minute; after a failure with growing waits of up to
that.
"""

from __future__ import annotations

import logging
from threading import Event, Thread
from typing import Final

from daemon.backoff import Backoff
from plugin.claim.vfs.keeper import VfKeeper, Warn

_REST_S: Final = 60.0
_BACKOFF: Final = Backoff(first=1.0, most=_REST_S)
_GOODBYE_S: Final = 5.0
_log = logging.getLogger(__name__)


class VfKeeping:
    """Keeps the number of VFs from ``begin`` to ``close``. ``close`` does not wait for a write that hangs.

    Shape: ``is_needed`` whether there may be rules.
    """

    def __init__(self, keeper: VfKeeper, *, is_needed: bool) -> None:
        self._keeper = keeper
        self._is_needed = is_needed
        self._wake = Event()
        self._is_over = False
        self._thread: Thread | None = None

    def begin(self, warn: Warn) -> None:
        """Start the thread, where there may be rules. ``warn`` tells people about the node."""
        if self._is_needed:
            self._thread = Thread(target=self._work, args=(warn,), name="vfs", daemon=True)
            self._thread.start()

    def look_again(self) -> None:
        """Look soon: what claims hold has changed. Returns at once."""
        if self._is_needed:
            self._wake.set()

    def close(self) -> None:
        """End the thread."""
        self._is_over = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_GOODBYE_S)

    def _work(self, warn: Warn) -> None:
        backoff = _BACKOFF
        while not self._is_over:
            backoff = _BACKOFF if self._kept(warn) else backoff.failed()
            self._wake.wait(backoff.wait() if backoff.failures else _REST_S)
            self._wake.clear()

    def _kept(self, warn: Warn) -> bool:
        try:
            return self._keeper.keep(warn)
        except Exception:  # noqa: BLE001 - the outermost loop: it must go on
            _log.exception("the number of VFs is not checked")
            return False
