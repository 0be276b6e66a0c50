"""The last events of a simulated machine, as a part of its state. Pure.

Everybody who listens reads from the ring what came after the number that was heard last. A listener who is
so slow that the ring has lost something learns that, as from hardware whose buffer was full.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from agent.hardware.health.types import GpuEvent, GpuEventKind
from agent.hardware.simulated.parts import Part
from agent.hardware.types import GpuUuid

ROOM: Final = 64
"""More than any test raises between two reads."""


class EventState(Part, frozen=True):
    """An event. Shape: ``number`` counts the events of the machine; the rest as ``GpuEvent``."""

    number: int
    gpu: str | None
    kind: GpuEventKind
    xid: int | None = None
    gi_id: int | None = None
    ci_id: int | None = None
    times: int = 1

    def once(self) -> GpuEvent:
        """Return it as the port tells it, as if it had come once."""
        return GpuEvent(
            gpu=None if self.gpu is None else GpuUuid(self.gpu),
            kind=self.kind,
            xid=self.xid,
            gi_id=self.gi_id,
            ci_id=self.ci_id,
        )


class Ring(Part, frozen=True):
    """The last events, the oldest first. Shape: ``raised`` is the number of the last one ever, 0 for none."""

    raised: int = 0
    events: tuple[EventState, ...] = ()

    def with_event(self, event: GpuEvent) -> Ring:
        """Return the ring after one more event."""
        number = self.raised + 1
        fresh = EventState(number, event.gpu, event.kind, event.xid, event.gi_id, event.ci_id, event.times)
        return Ring(number, (*self.events, fresh)[-ROOM:])

    def after(self, number: int) -> tuple[EventState, ...]:
        """Return the events after the one of this number that the ring still has."""
        return tuple(event for event in self.events if event.number > number)

    def has_lost_after(self, number: int) -> bool:
        """Whether events after the one of this number are in the ring no more."""
        return self.raised - number > len(self.after(number))


def counted(events: tuple[EventState, ...]) -> tuple[GpuEvent, ...]:
    """Return equal events as one with their number, in the order in which the first of each came."""
    times: dict[GpuEvent, int] = {}
    for state in events:
        alike = state.once()
        times[alike] = times.get(alike, 0) + state.times
    return tuple(replace(event, times=count) for event, count in times.items())
