"""A watch tells everything that happens, in order and once, whatever happens to its connection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from threading import Event, Thread
from typing import Any

import pytest
from scripted_api import Cut, Hang, Reply, Script, Stream, document, status, stored

from kube_api import (
    RESOURCE_CLAIMS,
    Change,
    Disconnected,
    Expired,
    Forbidden,
    Invalid,
    KubeApi,
    Removed,
    Synced,
    Unavailable,
    Upserted,
)

Watching = Callable[..., Iterator[Change]]


@pytest.fixture
def stop() -> Iterator[Event]:
    event = Event()
    yield event
    event.set()


@pytest.fixture
def watching(connect: Callable[..., KubeApi], server: Script, stop: Event) -> Watching:
    """Watch claims with delays too short to notice."""

    def watch(**limits: float) -> Iterator[Change]:
        shortest = {"first_delay_s": 0.001, "watch_longest_delay_s": 0.002}
        api = connect(f"http://127.0.0.1:{server.server_port}", **(shortest | limits))
        return api.watch(RESOURCE_CLAIMS, stop=stop)

    return watch


def listing(version: int, *names: str) -> Reply:
    items = [document(name, version) for name in names]
    return Reply({"metadata": {"resourceVersion": str(version)}, "items": items})


def line(kind: str, name: str, version: int) -> dict[str, Any]:
    return {"type": kind, "object": document(name, version)}


def bookmark(version: int) -> dict[str, Any]:
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}}


def error(code: int, reason: str, **details: Any) -> dict[str, Any]:
    return {"type": "ERROR", "object": status(code, reason, **details)}


def versions(server: Script) -> list[str | None]:
    """Return from where each watch began; None stands for a list."""
    return [request.query.get("resourceVersion") for request in server.requests]


def test_it_begins_with_everything_and_goes_on_with_what_changes(server: Script, watching: Watching) -> None:
    lines = (line("ADDED", "b", 11), line("MODIFIED", "a", 12), line("DELETED", "b", 13))
    server.answers(listing(10, "a"), Stream(lines, then="hang"))

    changes = list(islice(watching(), 4))

    assert changes == [
        Synced((stored("a", 10),)),
        Upserted(stored("b", 11)),
        Upserted(stored("a", 12)),
        Removed(stored("b", 13)),
    ]
    query = server.requests[1].query
    assert (query["watch"], query["resourceVersion"], query["allowWatchBookmarks"]) == ("true", "10", "true")
    assert query["timeoutSeconds"] == "300"


def test_it_goes_on_where_it_was_when_the_server_ends_it_as_usual(server: Script, watching: Watching) -> None:
    server.answers(
        listing(10),
        Stream((line("ADDED", "a", 11), bookmark(20))),
        Stream((line("ADDED", "b", 21),), then="hang"),
    )

    changes = list(islice(watching(), 3))

    assert changes == [Synced(()), Upserted(stored("a", 11)), Upserted(stored("b", 21))]
    assert versions(server) == [None, "10", "20"]


def test_a_line_that_was_cut_is_told_once_and_whole(server: Script, watching: Watching) -> None:
    whole = json.dumps(line("ADDED", "b", 12)).encode()
    server.answers(
        listing(10),
        Stream((line("ADDED", "a", 11), whole[:40]), then="cut"),
        Stream((line("ADDED", "b", 12),), then="hang"),
    )

    changes = list(islice(watching(), 4))

    assert [type(change) for change in changes] == [Synced, Upserted, Disconnected, Upserted]
    assert changes[3] == Upserted(stored("b", 12))
    assert versions(server) == [None, "10", "11"]


def test_a_line_may_come_in_pieces_and_several_at_once(server: Script, watching: Watching) -> None:
    first, second = (json.dumps(line("ADDED", name, 11 + at)).encode() for at, name in enumerate("ab"))
    server.answers(listing(10), Stream((first[:7], first[7:] + b"\n" + second + b"\n"), then="hang"))

    changes = list(islice(watching(), 3))

    assert changes[1:] == [Upserted(stored("a", 11)), Upserted(stored("b", 12))]


@pytest.mark.parametrize("forgotten", [Reply(status(410, "Expired"), 410), Stream((error(410, "Expired"),))])
def test_history_that_the_server_forgot_is_read_anew_without_a_word(
    server: Script, watching: Watching, forgotten: Reply | Stream
) -> None:
    server.answers(
        listing(10, "a"),
        Stream((bookmark(11),)),
        forgotten,
        listing(30, "b"),
        Stream((line("ADDED", "c", 31),), then="hang"),
    )

    changes = list(islice(watching(), 3))

    assert changes == [Synced((stored("a", 10),)), Synced((stored("b", 30),)), Upserted(stored("c", 31))]
    assert versions(server) == [None, "10", "11", None, "30"]


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


def test_a_server_that_lags_does_not_turn_time_back(server: Script, watching: Watching) -> None:
    server.answers(
        listing(10),
        Stream((line("ADDED", "a", 20), bookmark(15), line("MODIFIED", "a", 14))),
        Stream((line("MODIFIED", "a", 21),), then="hang"),
    )

    changes = list(islice(watching(), 3))

    assert changes == [Synced(()), Upserted(stored("a", 20)), Upserted(stored("a", 21))]
    assert versions(server) == [None, "10", "20"]


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

    changes = list(islice(watching(watch_idle_s=0.1), 3))

    assert [type(change) for change in changes] == [Synced, Disconnected, Upserted]
    assert "said nothing for too long" in str(changes[1])
    assert versions(server) == [None, "10", "11"]


def test_a_server_that_never_answers_the_watch_is_given_up(server: Script, watching: Watching) -> None:
    server.answers(listing(10), Hang(), Stream((line("ADDED", "a", 12),), "hang"))

    changes = list(islice(watching(read_timeout_s=0.1), 3))

    assert [type(change) for change in changes] == [Synced, Disconnected, Upserted]


def test_a_selector_that_cannot_be_right_ends_it(server: Script, watching: Watching) -> None:
    server.answers(Reply(status(400, "BadRequest", "field label not supported"), 400))

    with pytest.raises(Invalid, match="field label not supported"):
        next(watching())


def consume(changes: Iterator[Change], kind: type[Change], seen: Event) -> None:
    for change in changes:
        if isinstance(change, kind):
            seen.set()


@pytest.mark.parametrize("over", ["plain", "tls"])
def test_it_ends_when_it_is_told_to_also_while_nothing_happens(
    request: pytest.FixtureRequest, connect: Callable[..., KubeApi], over: str
) -> None:
    stop, seen = Event(), Event()
    server: Script = request.getfixturevalue("server" if over == "plain" else "secure_server")
    address = f"{'http' if over == 'plain' else 'https'}://127.0.0.1:{server.server_port}"
    api = connect(address, {"insecure-skip-tls-verify": True} if over == "tls" else None)
    server.answers(listing(10), Stream((line("ADDED", "a", 11),), then="hang"))
    thread = Thread(target=consume, args=(api.watch(RESOURCE_CLAIMS, stop=stop), Upserted, seen))
    thread.start()
    assert seen.wait(30)

    stop.set()
    thread.join(30)

    assert not thread.is_alive()


def test_it_ends_when_it_is_told_to_while_it_waits_for_a_server_that_is_down(
    connect: Callable[..., KubeApi], server: Script
) -> None:
    stop, seen = Event(), Event()
    server.answers(Reply(status(500), 500))
    api = connect(f"http://127.0.0.1:{server.server_port}", first_delay_s=1e4, watch_longest_delay_s=1e4)
    thread = Thread(target=consume, args=(api.watch(RESOURCE_CLAIMS, stop=stop), Disconnected, seen))
    thread.start()
    assert seen.wait(30)

    stop.set()
    thread.join(30)

    assert not thread.is_alive()
