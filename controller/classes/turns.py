"""When the status of each class is written: at most once in a while per class, and never twice at once.

Takes the time and the outcome of each write; returns the writes that are due. It has no thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from controller.classes.documents import ClassStatus, status_patch
from controller.classes.statuses import ClassStatuses

INTERVAL_S: Final = 1.0
_LONGEST_WAIT_S: Final = 60.0


class WriteStatus(Protocol):
    """The port through which statuses go out."""

    def __call__(self, name: str, document: Mapping[str, Any]) -> None:
        """Merge a document into the status of a ResourceClass. Raises: whatever the server's client does."""
        ...


@dataclass(frozen=True, slots=True)
class StatusWrite:
    """A write that is due: the class and the merge patch for its status."""

    name: str
    document: Mapping[str, Any]


@dataclass(slots=True)
class _Turn:
    """Shape: ``ready_s`` the time from which on the class may be written; ``failures`` in a row."""

    ready_s: float
    is_in_flight: bool = False
    failures: int = 0


class StatusTurns:
    """Says which statuses are to be written now.

    Each write of ``due`` must be followed by ``ended``, at best after the answer was given to
    ``ClassStatuses.set_class``: then it is known that the server has it.
    Units: ``clock`` in seconds, never going back; ``now`` returns a time stamp of the API.
    """

    def __init__(
        self,
        statuses: ClassStatuses,
        clock: Callable[[], float],
        now: Callable[[], str],
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._statuses = statuses
        self._clock = clock
        self._now = now
        self._interval_s = interval_s
        self._turns: dict[str, _Turn] = {}
        self._waiting: tuple[str, ...] = ()

    def due(self) -> tuple[StatusWrite, ...]:
        """Return the writes that may be sent now, by name of the class, and count them as begun."""
        time_s = self._clock()
        wanted = {one.name: one for one in self._statuses.changed()}
        self._forget(wanted)
        found = [one for name, one in wanted.items() if self._may_begin(name, time_s)]
        for one in found:
            turn = self._turns.setdefault(one.name, _Turn(time_s))
            turn.is_in_flight, turn.ready_s = True, time_s + self._interval_s
        self._waiting = tuple(name for name in wanted if not self._turns[name].is_in_flight)
        return tuple(self._write(one) for one in found)

    def ended(self, name: str, *, is_written: bool) -> None:
        """Note that a write ended. One that failed is due again, after a time that grows.

        What changed meanwhile becomes due with the class's next turn.
        """
        turn = self._turns[name]
        turn.is_in_flight = False
        turn.failures = 0 if is_written else turn.failures + 1
        if not is_written:
            wait_s = self._interval_s * 2.0 ** (turn.failures - 1)
            turn.ready_s = self._clock() + min(wait_s, _LONGEST_WAIT_S)
        self._waiting = (*self._waiting, name)

    def wait_s(self) -> float | None:
        """Return how long nothing becomes due unless something changes; None for ever. Units: seconds."""
        ready = [self._turns[name].ready_s for name in self._waiting if name in self._turns]
        return max(0.0, min(ready) - self._clock()) if ready else None

    def _may_begin(self, name: str, time_s: float) -> bool:
        turn = self._turns.get(name)
        return turn is None or (not turn.is_in_flight and turn.ready_s <= time_s)

    def _write(self, status: ClassStatus) -> StatusWrite:
        return StatusWrite(status.name, status_patch(status, self._statuses.stored(status.name), self._now()))

    def _forget(self, wanted: Mapping[str, ClassStatus]) -> None:
        """Forget the turns of classes whose status is stored, once they may be written again."""
        time_s = self._clock()
        done = [
            name
            for name, turn in self._turns.items()
            if name not in wanted and not turn.is_in_flight and turn.ready_s <= time_s
        ]
        for name in done:
            del self._turns[name]
