"""Whether an API server is new enough, asked until it is known, and told once where it is too old.

A program goes on running where it is: it serves metrics and probes, is not ready, and asks again now and
then, so that it begins by itself after an upgrade of the control plane.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

NEEDED_API: Final = "resource.k8s.io/v1"
NEEDED_VERSION: Final = (1, 34)
"""The first version of Kubernetes that serves it. Source: Kubernetes 1.34 release notes, KEP-4381."""
_AGAIN_S: Final = 300.0
_UNKNOWN_S: Final = 30.0
_FIRST_ANSWER_S: Final = 5.0
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")
_log = logging.getLogger(__name__)


def refusal(version: str) -> str:
    """PURE: return why a server that does not serve ``NEEDED_API`` cannot be used. Shape: ``v1.33.2``."""
    found = _VERSION.match(version)
    needed = ".".join(map(str, NEEDED_VERSION))
    missing = (
        f"the API server is Kubernetes {version or 'of an unknown version'} and does not serve {NEEDED_API}"
    )
    if found is not None and (int(found[1]), int(found[2])) >= NEEDED_VERSION:
        return f"{missing}; the administrator turns on this API and the gate DynamicResourceAllocation"
    return f"{missing}: Kubernetes {needed} or newer is needed; the administrator upgrades the control plane"


class OldestServer:
    """Asks one API server whether it can be used.

    Shape: ``ask`` returns why it cannot, empty where it can, and may raise anything while that is not known;
           ``measure`` is told 1.0 while it cannot, else 0.0; ``wait`` waits between two questions.
    Units: seconds.
    """

    def __init__(
        self, ask: Callable[[], str], measure: Callable[[float], None], wait: Callable[[float], object]
    ) -> None:
        self._ask = ask
        self._measure = measure
        self._wait = wait
        self._may_go_on: SimpleQueue[bool] = SimpleQueue()
        self.is_refused = False

    def begin(self) -> None:
        """Ask on a thread of its own until the server can be used."""
        Thread(target=self._work, name="oldest-server", daemon=True).start()

    def stop(self) -> None:
        """End ``passes``. May be called from a signal handler."""
        self._may_go_on.put(False)

    def passes(self, longest_s: float = _FIRST_ANSWER_S) -> bool:
        """Wait while the server is known to be too old; return False where ``stop`` was called meanwhile.

        A server that does not answer for ``longest_s`` is not waited for: who uses it says what is wrong.
        """
        try:
            return self._may_go_on.get(timeout=longest_s)
        except Empty:
            return self._may_go_on.get() if self.is_refused else True

    def _work(self) -> None:
        while (wait_s := self._look()) is not None:
            self._wait(wait_s)

    def _look(self) -> float | None:
        """Ask once; return when to ask again, None where the server can be used."""
        try:
            why = self._ask()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not known whether the server is too old
            _log.debug("the version of the API server is not known: %s", error)
            if not self.is_refused:
                self._may_go_on.put(True)
            return _UNKNOWN_S
        was_refused, self.is_refused = self.is_refused, bool(why)
        self._measure(float(self.is_refused))
        if why and not was_refused:
            _log.error("%s; it is asked again every %.0f s", why, _AGAIN_S)
        elif was_refused and not why:
            _log.info("the API server serves %s now", NEEDED_API)
        if why:
            return _AGAIN_S
        self._may_go_on.put(True)
        return None
