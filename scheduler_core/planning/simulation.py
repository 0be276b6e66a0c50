"""Replays arrivals and departures of claims: who gets devices at once, who waits, who gives up.

What does not fit waits in line, no longer than its patience. Whenever claims leave, those in line are tried
again, the oldest first; others behind one that does not fit are tried as well. What asks for the same fits or
does not fit alike, so of these only the oldest is asked about. Claims that leave at one time leave together,
before anything is tried. Time passes from event to event; no clock is read.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import field
from math import inf
from typing import Protocol

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.result import Allocation


@dataclass(frozen=True, slots=True)
class Arrival:
    """Claims that arrive together.

    Shape: ``ask`` is the number of what they ask for.
    Units: ``at`` and ``stays`` in one unit of time; ``stays`` None until the end.
    """

    at: float
    stays: float | None
    ask: int


class Holds(Protocol):
    """Gives devices to arrivals, and takes them back."""

    def place(self, number: int, arrival: Arrival) -> Allocation | None:
        """Let the claims of an arrival hold devices; None where they do not fit."""
        ...

    def leave(self, number: int) -> None:
        """Give the devices of an arrival back."""
        ...


class Watcher(Protocol):
    """Is told what happens. Units: as in ``Arrival``."""

    def passes(self, until: float) -> None:
        """Nothing changed until then."""
        ...

    def arrives(self, number: int) -> None:
        """An arrival comes; it has not been tried yet."""
        ...

    def placed(self, number: int, allocation: Allocation, waited: float) -> None:
        """An arrival got devices."""
        ...

    def refuses(self, number: int) -> None:
        """An arrival got none, and waits no longer."""
        ...

    def left(self, number: int) -> None:
        """An arrival gave its devices back."""
        ...


@dataclass(slots=True)
class Simulation:
    """One run. Shape: ``arrivals`` by time; ``patience`` 0 to wait for nothing, infinite to wait for ever."""

    arrivals: Sequence[Arrival]
    holds: Holds
    watcher: Watcher
    patience: float = inf
    _leaving: list[tuple[float, int]] = field(default_factory=list)
    _lines: dict[int, deque[int]] = field(default_factory=dict)
    _deadlines: deque[int] = field(default_factory=deque)
    _waits: set[int] = field(default_factory=set)

    def run(self) -> tuple[int, ...]:
        """Replay everything, and return the arrivals that are still in line when nothing leaves any more."""
        for number, arrival in enumerate(self.arrivals):
            self._until(arrival.at)
            self.watcher.arrives(number)
            self._arrives(number, arrival)
        while self._waits and self._leaving:
            self._until(self._leaving[0][0])
        while self._waits and self._deadline() < inf:
            self._until(self._deadline())
        return tuple(sorted(self._waits))

    def _arrives(self, number: int, arrival: Arrival) -> None:
        is_behind = bool(self._lines.get(arrival.ask))
        if not is_behind and self._placed(number, arrival.at):
            return
        if self.patience <= 0:
            self.watcher.refuses(number)
            return
        self._lines.setdefault(arrival.ask, deque()).append(number)
        self._deadlines.append(number)
        self._waits.add(number)

    def _until(self, now: float) -> None:
        """Let everything happen that happens until then."""
        while True:
            leaves = self._leaving[0][0] if self._leaving else inf
            gives_up = self._deadline()
            if min(leaves, gives_up) > now:
                break
            if leaves <= gives_up:
                self._leave(leaves)
            else:
                self._give_up(gives_up)
        self.watcher.passes(now)

    def _leave(self, at: float) -> None:
        self.watcher.passes(at)
        while self._leaving and self._leaving[0][0] == at:
            _, number = heapq.heappop(self._leaving)
            self.holds.leave(number)
            self.watcher.left(number)
        self._try_line(at)

    def _try_line(self, now: float) -> None:
        """Try those in line, the oldest first, until all were refused."""
        heads = [(line[0], ask) for ask, line in self._lines.items() if line]
        heapq.heapify(heads)
        while heads:
            number, ask = heapq.heappop(heads)
            if not self._placed(number, now):
                continue
            self._dropped(number, ask)
            if self._lines[ask]:
                heapq.heappush(heads, (self._lines[ask][0], ask))

    def _give_up(self, at: float) -> None:
        self.watcher.passes(at)
        number = self._deadlines.popleft()
        self._dropped(number, self.arrivals[number].ask)
        self.watcher.refuses(number)

    def _dropped(self, number: int, ask: int) -> None:
        """Take the first of those that ask for the same out of the line."""
        self._lines[ask].popleft()
        self._waits.discard(number)

    def _deadline(self) -> float:
        """Return when the next one gives up."""
        while self._deadlines and self._deadlines[0] not in self._waits:
            self._deadlines.popleft()
        return self.arrivals[self._deadlines[0]].at + self.patience if self._deadlines else inf

    def _placed(self, number: int, now: float) -> bool:
        arrival = self.arrivals[number]
        found = self.holds.place(number, arrival)
        if found is None:
            return False
        self.watcher.placed(number, found, now - arrival.at)
        if arrival.stays is not None:
            heapq.heappush(self._leaving, (now + arrival.stays, number))
        return True


def in_order(arrivals: Iterable[Arrival]) -> tuple[Arrival, ...]:
    """Return arrivals by time; those of one time stay in order."""
    return tuple(sorted(arrivals, key=lambda one: one.at))
