"""Events that wait to be written: in the order in which they came, with a fair part for each namespace.

Events about objects without a namespace, such as Nodes, count as a namespace of their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Condition
from typing import Final

from kube_api.events.ledger import Occurrence

MOST: Final = 256
MOST_OF_ONE: Final = 64
"""Events of one namespace that may wait."""


@dataclass(frozen=True, slots=True, eq=False)
class Emitted:
    """An occurrence with its time. Units: seconds since 1970."""

    occurrence: Occurrence
    at_s: float

    @property
    def namespace(self) -> str:
        """Whose events it counts to; empty where the object has no namespace."""
        return self.occurrence.regarding.namespace


@dataclass(slots=True)
class WaitingEvents:
    """A queue of events. Safe between threads."""

    _events: list[Emitted] = field(default_factory=list)
    _is_closed: bool = False
    _changed: Condition = field(default_factory=Condition)

    def put(self, emitted: Emitted) -> Emitted | None:
        """Add an event, and return the one that has no place: this one or another. Waits for nobody.

        Shape: where all is full, the namespace with the most waiting events gives up its newest. Those
               without a namespace give up none for others.
        """
        with self._changed:
            lost = self._without_place(emitted)
            if lost is not emitted:
                if lost is not None:
                    self._events.remove(lost)
                self._events.append(emitted)
                self._changed.notify()
            return lost

    def take(self, timeout_s: float) -> Emitted | None:
        """Return the oldest event, None where none comes in time, or after the last one of a closed queue."""
        with self._changed:
            self._changed.wait_for(lambda: self._events or self._is_closed, timeout_s)
            return self._events.pop(0) if self._events else None

    def close(self) -> None:
        """Let ``take`` wait no more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def is_over(self) -> bool:
        """Whether it is closed and nothing waits."""
        with self._changed:
            return self._is_closed and not self._events

    def _without_place(self, emitted: Emitted) -> Emitted | None:
        waiting = Counter(one.namespace for one in self._events)
        own = waiting[emitted.namespace]
        if own >= MOST_OF_ONE:
            return emitted
        if len(self._events) < MOST:
            return None
        loudest = max(filter(None, waiting), key=waiting.__getitem__)
        if emitted.namespace and waiting[loudest] <= own + 1:
            return emitted  # nobody has more than its namespace would have then
        return next(one for one in reversed(self._events) if one.namespace == loudest)
