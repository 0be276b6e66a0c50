"""Looks again and again, on a thread of its own, while the plugin serves.

It looks when it begins, then once a minute; soon after a call or a repair failed, and later and later while
that goes on. The waits are spread, so that many nodes do not ask the API server at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import random
from threading import Event, Thread
from typing import Final

from daemon.backoff import Backoff

Look = Callable[[Callable[[], bool]], bool]
"""One look; it is told whether the plugin goes on, and says whether the next look has time."""

_REST: Final = Backoff(first=60.0, most=60.0, failures=1)
_SOON: Final = Backoff(first=5.0, most=60.0)
_GOODBYE_S: Final = 5.0
_log = logging.getLogger(__name__)


class Reconciling:
    """Looks from ``begin`` to ``close``, which does not wait for a look that hangs.

    Shape: ``wait`` waits for an event, as ``Event.wait`` does; ``spread`` a random number from 0 to 1.
    Units: seconds.
    """

    def __init__(
        self, wait: Callable[[Event, float], bool] = Event.wait, spread: Callable[[], float] = random
    ) -> None:
        self._wait = wait
        self._spread = spread
        self._over = Event()
        self._trouble = Event()
        self._thread: Thread | None = None

    def begin(self, look: Look) -> None:
        """Start the thread."""
        self._thread = Thread(target=self._work, args=(look,), name="reconciling", daemon=True)
        self._thread.start()

    def hasten(self) -> None:
        """Look soon: a call failed. Returns at once."""
        self._trouble.set()

    def close(self) -> None:
        """End the thread."""
        self._over.set()
        self._trouble.set()
        if self._thread is not None:
            self._thread.join(_GOODBYE_S)

    @property
    def is_over(self) -> bool:
        """Whether the thread has ended."""
        return self._thread is not None and not self._thread.is_alive()

    def _work(self, look: Look) -> None:
        soon = _SOON
        while not self._over.is_set():
            self._trouble.clear()
            if self._looked(look):
                soon = self._rested(soon)
            else:
                soon = soon.failed()
                self._wait(self._over, soon.wait(self._spread()))

    def _rested(self, soon: Backoff) -> Backoff:
        """Wait until the next look is due; return how long the waits are if trouble goes on."""
        spread, troubled = self._spread(), soon.failed()
        least_s = troubled.wait(spread)
        if self._wait(self._over, least_s):
            return soon
        return troubled if self._wait(self._trouble, _REST.wait(spread) - least_s) else _SOON

    def _looked(self, look: Look) -> bool:
        try:
            return look(lambda: not self._over.is_set())
        except Exception:  # noqa: BLE001 - the outermost loop: it must go on
            _log.exception("claims are not looked after")
            return False
