"""A watch tells everything that happens, in order and once, and ends when it is told to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from threading import Event, Thread

import pytest
from scripted_api import Reply, Script, Stream, status, stored
from scripted_api.watching import bookmark, error, line, listing, versions

from kube_api import RESOURCE_CLAIMS, Disconnected, KubeApi, Object, Removed, Synced, Upserted, WatchEvent

Watching = Callable[..., Iterator[WatchEvent[Object]]]


def test_it_begins_with_everything_and_goes_on_with_what_changes(server: Script, watching: Watching) -> None:
    lines = (line("ADDED", "b", 11), line("MODIFIED", "a", 12), line("DELETED", "b", 13))
    server.answers(listing(10, "a"), Stream(lines, then="hang"))

    changes = list(islice(watching(), 4))

    assert changes == [
        Synced((stored("a", 10),), "10"),
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

    assert changes == [Synced((), "10"), Upserted(stored("a", 11)), Upserted(stored("b", 21))]
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

    assert changes == [
        Synced((stored("a", 10),), "10"),
        Synced((stored("b", 30),), "30"),
        Upserted(stored("c", 31)),
    ]
    assert versions(server) == [None, "10", "11", None, "30"]


def test_a_server_that_lags_does_not_turn_time_back(server: Script, watching: Watching) -> None:
    server.answers(
        listing(10),
        Stream((line("ADDED", "a", 20), bookmark(15), line("MODIFIED", "a", 14))),
        Stream((line("MODIFIED", "a", 21),), then="hang"),
    )

    changes = list(islice(watching(), 3))

    assert changes == [Synced((), "10"), Upserted(stored("a", 20)), Upserted(stored("a", 21))]
    assert versions(server) == [None, "10", "20"]


def consume(changes: Iterator[WatchEvent[Object]], kind: type[WatchEvent[Object]], seen: Event) -> None:
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
