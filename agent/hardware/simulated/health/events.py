"""Hears the events of a simulated machine's GPUs: the ``GpuEventSource`` port.

Any number of programs hear every event that was raised after they began to listen. They look at the machine's
state file, whose identity tells whether there is anything new.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agent.hardware.errors import GivenUp, HardwareError
from agent.hardware.health.types import GpuEvent, GpuEvents, Unwatched
from agent.hardware.simulated.calls import Calls
from agent.hardware.simulated.faults import Call
from agent.hardware.simulated.gpu_troubles.ring import Ring, counted
from agent.hardware.simulated.strikes import is_lost
from agent.hardware.types import GpuUuid

_POLL_S: Final = 0.1
_ATTEMPTED: Final = "wait for events"


class SimulatedEvents:
    """The events of one machine, for one listener. Shape: ``has_ended`` whether the program ends."""

    def __init__(self, calls: Calls, has_ended: Callable[[], bool]) -> None:
        self._calls = calls
        self._has_ended = has_ended
        self._heard: int | None = None
        self._watched: set[GpuUuid] = set()

    def wait(self, longest_s: float) -> GpuEvents:
        """Return as soon as something came, else after so many seconds. Raises: DriverMissing, GivenUp."""
        try:
            with self._calls.of_machine(Call.WAIT_EVENTS, _ATTEMPTED):
                return self._waited(longest_s)
        except HardwareError:  # a session that failed is over: what comes before the next one is missed
            self._heard = None
            self._watched.clear()
            raise

    def _waited(self, longest_s: float) -> GpuEvents:
        unwatched = self._unwatched()
        if self._heard is None:
            self._heard = self._ring().raised
            return GpuEvents((), unwatched, is_new_session=True)
        left_s = longest_s
        while True:
            came, has_lost = self._came(self._heard)
            if came or has_lost:
                self._forget_lost()
                return GpuEvents(came, self._unwatched(), is_new_session=has_lost)
            if self._has_ended():
                raise GivenUp(_ATTEMPTED, f"node {self._calls.store.node.name}", "the program ends")
            if left_s <= 0:
                return GpuEvents((), unwatched)
            self._calls.sleep(min(_POLL_S, left_s))
            left_s -= _POLL_S

    def _came(self, heard: int) -> tuple[tuple[GpuEvent, ...], bool]:
        """Return the events of registered GPUs after one that was heard, and whether some are lost."""
        ring = self._ring()
        self._heard = ring.raised
        mine = tuple(event for event in ring.after(heard) if event.gpu is None or event.gpu in self._watched)
        return counted(mine), ring.has_lost_after(heard)

    def _ring(self) -> Ring:
        return self._calls.store.read().events

    def _forget_lost(self) -> None:
        """Nothing more comes of a GPU that is lost: once it is back it is registered again."""
        state = self._calls.store.read()
        self._watched -= {card.uuid for card in self._calls.store.node.cards if is_lost(state, card.minor)}

    def _unwatched(self) -> tuple[Unwatched, ...]:
        """Register what is not registered yet; return what cannot be."""
        found = []
        for card in self._calls.store.node.cards:
            if card.uuid in self._watched:
                continue
            try:
                with self._calls.of_gpu(Call.WATCH_EVENTS, card.uuid, "register for events"):
                    self._watched.add(card.uuid)
            except HardwareError as error:
                found.append(Unwatched(card.uuid, str(error)))
        return tuple(found)
