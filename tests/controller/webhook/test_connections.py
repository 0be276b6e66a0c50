"""Which connections are closed, and which one makes room."""

from __future__ import annotations

import socket

from hypothesis import given
from hypothesis import strategies as st

from controller.webhook.connections import Bounds, Connection, Phase, in_the_way, overdue

BOUNDS = Bounds()
NOBODY = socket.socket()
NOBODY.close()

connections = st.lists(
    st.builds(
        Connection, socket=st.just(NOBODY), since_s=st.floats(0, 1000), phase=st.sampled_from(list(Phase))
    )
)


@given(connections)
def test_a_connection_that_is_being_answered_never_makes_room(given: list[Connection]) -> None:
    found = in_the_way(given)

    assert found is None or found.phase is not Phase.ANSWERING
    assert (found is None) == all(one.phase is Phase.ANSWERING for one in given)


@given(connections)
def test_who_has_sent_no_whole_request_makes_room_before_who_waits_for_the_next(
    given: list[Connection],
) -> None:
    found = in_the_way(given)

    if found is not None and found.phase is Phase.WAITING:
        assert not [one for one in given if one.phase in (Phase.NEW, Phase.READING)]
    if found is not None:
        assert all(one.since_s >= found.since_s for one in given if one.phase is found.phase)


@given(connections, st.floats(0, 2000))
def test_what_is_overdue_is_older_than_its_phase_may_be(given: list[Connection], now: float) -> None:
    late = overdue(given, BOUNDS, now)

    for one in given:
        limit = BOUNDS.seconds_of(one.phase)
        assert (one in late) == (limit is not None and now - one.since_s >= limit)


def test_an_idle_connection_stays_longer_than_an_api_server_keeps_it() -> None:
    assert BOUNDS.idle_s > 90.0
