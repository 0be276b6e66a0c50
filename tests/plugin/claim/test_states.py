"""The claim's life as a table."""

from __future__ import annotations

import itertools

import pytest

from plugin.base.errors import IllegalEvent
from plugin.claim.states import TABLE, Event, State, next_state

LEGAL = {
    (State.ABSENT, Event.PREPARE): State.STARTED,
    (State.ABSENT, Event.UNPREPARE): State.ABSENT,
    (State.STARTED, Event.PREPARE): State.UNDOING,
    (State.STARTED, Event.DONE): State.COMPLETED,
    (State.STARTED, Event.UNPREPARE): State.UNDOING,
    (State.COMPLETED, Event.PREPARE): State.COMPLETED,
    (State.COMPLETED, Event.UNPREPARE): State.UNDOING,
    (State.UNDOING, Event.PREPARE): State.UNDOING,
    (State.UNDOING, Event.UNPREPARE): State.UNDOING,
    (State.UNDOING, Event.UNDONE): State.ABSENT,
}
EVERY_PAIR = list(itertools.product(State, Event))


@pytest.mark.parametrize(("state", "event"), [pair for pair in EVERY_PAIR if pair in LEGAL])
def test_a_legal_event_leads_where_the_table_says(state: State, event: Event) -> None:
    assert next_state(state, event) is LEGAL[state, event]


@pytest.mark.parametrize(("state", "event"), [pair for pair in EVERY_PAIR if pair not in LEGAL])
def test_an_illegal_event_raises_and_changes_nothing(state: State, event: Event) -> None:
    before = {each: dict(row) for each, row in TABLE.items()}

    with pytest.raises(IllegalEvent, match=f"{event}.*{state}"):
        next_state(state, event)

    assert {each: dict(row) for each, row in TABLE.items()} == before


def test_from_every_state_a_claim_can_come_to_absent_and_to_completed() -> None:
    def reachable(state: State) -> set[State]:
        found, new = {state}, {state}
        while new:
            new = {target for each in new for target in TABLE[each].values()} - found
            found |= new
        return found

    for state in State:
        assert {State.ABSENT, State.COMPLETED} <= reachable(state)
