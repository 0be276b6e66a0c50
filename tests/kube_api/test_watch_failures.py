"""A watch outlives every failure that may pass: it says so, waits no less than it must, and goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from scripted_api import Cut, Hang, Reply, Script, Stream, status
from scripted_api.watching import bookmark, error, line, listing, versions

from kube_api import (
    Disconnected,
    Expired,
    Forbidden,
    Invalid,
    Object,
    Synced,
    Unavailable,
    Upserted,
    WatchEvent,
)

Watching = Callable[..., Iterator[WatchEvent[Object]]]


def test_a_server_that_forgets_what_it_just_listed_is_not_asked_without_pause(
    server: Script, watching: Watching
) -> None:
    expired = Reply(status(410, "Expired"), 410)
    server.answers(listing(10), expired, listing(11), expired, listing(12), Stream((bookmark(13),), "hang"))

    changes = list(islice(watching(), 5))

    assert [type(change) for change in changes] == [Synced, Disconnected, Synced, Disconnected, Synced]
    assert isinstance(changes[1], Disconnected)
    assert isinstance(changes[1].error, Expired)


def test_a_version_from_the_future_is_given_up(server: Script, watching: Watching) -> None:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    server.answers(
        listing(900, "a"),
        Reply(status(504, "Timeout", causes=[cause]), 504),
        listing(10, "b"),
        Stream((line("ADDED", "c", 11),), then="hang"),
    )

    changes = list(islice(watching(), 4))

    assert [type(change) for change in changes] == [Synced, Disconnected, Synced, Upserted]
    assert versions(server) == [None, "900", None, "10"]


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Reply(status(500), 500), Unavailable),
        (Reply(status(403, "Forbidden"), 403), Forbidden),
        (Cut(), Unavailable),
        (Stream((error(500, "InternalError"),)), Unavailable),
        (Stream((b"no json\n",)), Exception),
        (Stream((b'{"type": "ADDED"}\n',)), Exception),
        (Stream((b'{"type": "ERROR", "object": {"code": "x"}}\n',)), Unavailable),
    ],
)
def test_every_other_failure_is_told_and_survived(
    server: Script, watching: Watching, failure: Any, kind: type[Exception]
) -> None:
    server.answers(listing(10), failure, failure, Stream((line("ADDED", "a", 11),), then="hang"))

    changes = list(islice(watching(), 4))

    assert [type(change) for change in changes] == [Synced, Disconnected, Disconnected, Upserted]
    assert isinstance(changes[1], Disconnected)
    assert isinstance(changes[1].error, kind)
    assert str(changes[1].error).startswith("cannot watch ResourceClaim: ")
    assert versions(server) == [None, "10", "10", "10"]


def test_a_list_that_fails_is_told_and_tried_again(server: Script, watching: Watching) -> None:
    server.answers(Reply(status(503), 503), Cut(), listing(10), Stream((), then="hang"))

    changes = list(islice(watching(), 3))

    assert [type(change) for change in changes] == [Disconnected, Disconnected, Synced]


def test_waits_grow_follow_the_server_and_are_short_again_after_a_change(
    server: Script, watching: Watching
) -> None:
    down = Reply(status(500), 500)
    server.answers(
        listing(10),
        down,
        down,
        Reply(status(429), 429, {"Retry-After": "0"}),
        Stream((line("ADDED", "a", 11),)),
        down,
    )

    changes = list(islice(watching(first_delay_s=0.002, watch_longest_delay_s=0.004), 6))

    waits = [change.retry_in_s for change in changes if isinstance(change, Disconnected)]
    assert waits == [0.001, 0.002, 0.002, 0.001]


def test_a_server_that_ends_every_watch_at_once_is_not_asked_without_pause(
    server: Script, watching: Watching
) -> None:
    server.answers(listing(10), Stream(()), Stream((line("ADDED", "a", 11),), then="hang"))

    changes = list(islice(watching(), 3))

    assert [type(change) for change in changes] == [Synced, Disconnected, Upserted]


def test_a_connection_that_says_nothing_is_given_up(server: Script, watching: Watching) -> None:
    server.answers(listing(10), Stream((bookmark(11),), "hang"), Stream((line("ADDED", "a", 12),), "hang"))

    changes = list(islice(watching(watch_idle_s=0.5), 3))

    assert [type(change) for change in changes] == [Synced, Disconnected, Upserted]
    assert "sent nothing for too long" in str(changes[1])
    assert versions(server) == [None, "10", "11"]


def test_a_server_that_never_answers_the_watch_is_given_up(server: Script, watching: Watching) -> None:
    server.answers(listing(10), Hang(), Stream((line("ADDED", "a", 12),), "hang"))

    changes = list(islice(watching(read_timeout_s=0.5), 3))

    assert [type(change) for change in changes] == [Synced, Disconnected, Upserted]


def test_a_selector_that_cannot_be_right_ends_it(server: Script, watching: Watching) -> None:
    server.answers(Reply(status(400, "BadRequest", "field label not supported"), 400))

    with pytest.raises(Invalid, match="field label not supported"):
        next(watching())
