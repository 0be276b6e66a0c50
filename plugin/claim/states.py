"""The life of a claim on its node, as a table.

Takes states and events; returns states. This table alone decides about transitions; it knows no hardware, no
files and no gRPC. An event that a state does not allow is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from plugin.base.errors import IllegalEvent


class State(StrEnum):
    """The state of a claim. ``absent`` is never stored: the claim then has no record."""

    ABSENT = "absent"
    STARTED = "started"
    COMPLETED = "completed"
    UNDOING = "undoing"


class Event(StrEnum):
    """What happens to a claim: two calls of the kubelet, two results of the plugin's own work."""

    PREPARE = "prepare"
    DONE = "done"
    UNPREPARE = "unprepare"
    UNDONE = "undone"


# A started claim that is asked for again is undone first: what a crash left is never used.
TABLE: Final[Mapping[State, Mapping[Event, State]]] = MappingProxyType(
    {
        State.ABSENT: {
            Event.PREPARE: State.STARTED,
            Event.UNPREPARE: State.ABSENT,
        },
        State.STARTED: {
            Event.PREPARE: State.UNDOING,
            Event.DONE: State.COMPLETED,
            Event.UNPREPARE: State.UNDOING,
        },
        State.COMPLETED: {
            Event.PREPARE: State.COMPLETED,
            Event.UNPREPARE: State.UNDOING,
        },
        State.UNDOING: {
            Event.PREPARE: State.UNDOING,
            Event.UNPREPARE: State.UNDOING,
            Event.UNDONE: State.ABSENT,
        },
    }
)


def next_state(state: State, event: Event) -> State:
    """Return the state that follows. Raises: IllegalEvent where the table has no entry."""
    following = TABLE[state].get(event)
    if following is None:
        known = ", ".join(TABLE[state])
        raise IllegalEvent("apply", f"event {event}", f"a claim that is {state} allows only {known}")
    return following
