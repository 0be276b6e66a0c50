"""Calls into the driver that did not return: what they were about, since when, and when to ask again.

A GPU that hangs is asked again only once the process that asked it is gone, and ever more rarely. So a call
that cannot even be killed costs one process, and nobody waits twice for what is known to hang.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Final

from agent.hardware.errors import TimedOut, Unanswered
from daemon.backoff import Backoff

NODE: Final = "this node"
"""What a call is about that is about no single GPU."""
OPENING: Final = "opening the driver"
"""What opening a session is about."""
EVENTS: Final = "events"
"""What waiting for the events of all GPUs is about."""
_AGAIN: Final = Backoff(first=15.0, most=300.0)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HungCall:
    """A call that did not return.

    Shape: ``since`` the time of day of the first one in a row, for messages.
    Units: ``again_at`` and ``began_at`` seconds.
    """

    attempted: str
    subject: str
    since: str
    again_at: float
    has_ended: Callable[[], bool]
    backoff: Backoff
    began_at: float

    @property
    def what(self) -> str:
        """Return what was attempted, for messages."""
        return f"{self.attempted} {self.subject}"


class HungCalls:
    """The calls that hang now, by what they are about. For any thread.

    Shape: about a GPU's UUID or index, ``NODE``, ``OPENING``, ``EVENTS``.
    Units: ``clock`` seconds; ``wall_clock`` seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float], wall_clock: Callable[[], float]) -> None:
        self._clock = clock
        self._wall_clock = wall_clock
        self._lock = Lock()
        self._calls: dict[str, HungCall] = {}

    def refuse(self, about: str) -> None:
        """Refuse a call about what hangs. Raises: TimedOut, until it is time to ask again."""
        call = self._calls.get(about)
        if call is None or (call.has_ended() and self._clock() >= call.again_at):
            return
        # The time of day and no age: a text that is always another one would be told again and again.
        reason = f"the driver has not answered since {call.since}"
        raise TimedOut(call.attempted, call.subject, reason, Unanswered.remedy)

    def add(self, about: str, error: Unanswered) -> None:
        """Note a call that did not return."""
        with self._lock:
            before = self._calls.get(about)
            since = f"{datetime.fromtimestamp(self._wall_clock(), UTC):%Y-%m-%d %H:%M:%S} UTC"
            backoff = (before.backoff if before else _AGAIN).failed()
            self._calls[about] = HungCall(
                error.attempted,
                error.subject,
                before.since if before else since,
                self._clock() + backoff.wait(),
                error.has_ended,
                backoff,
                before.began_at if before else self._clock(),
            )
        if before is None:
            _log.warning("%s", error)

    def all(self) -> tuple[tuple[str, float], ...]:
        """Return what hangs and for how long. Waits for nothing. Units: seconds."""
        now = self._clock()
        return tuple((call.what, now - call.began_at) for call in self._calls.copy().values())

    def forget(self, about: str) -> None:
        """Note that a call about something returned."""
        if self._calls and self._calls.pop(about, None) is not None:
            named = about if about in {NODE, OPENING, EVENTS} else f"GPU {about}"
            _log.info("the driver answers again about %s", named)
