"""No server can hold a call for ever, fill the memory, or make a list endless."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from scripted_api import Clock, Endless, Reply, Script, Stream, document, status, stored
from scripted_api.watching import line, listing, versions

from kube_api import (
    RESOURCE_CLAIMS,
    BadReply,
    Disconnected,
    KubeApi,
    Object,
    Synced,
    Unavailable,
    Upserted,
    WatchEvent,
)

Connect = Callable[..., KubeApi]
Watching = Callable[..., Iterator[WatchEvent[Object]]]

UNFRAMED = b"HTTP/1.1 200 OK\r\n\r\n"
FRAMED = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 1000000000\r\n\r\n"
HEADER = b"HTTP/1.1 200 OK\r\nX-Long: "
FINE = Reply(document("train"))


def page(token: str, *names: str) -> Reply:
    metadata = {"resourceVersion": "9", "continue": token}
    return Reply({"metadata": metadata, "items": [document(name) for name in names]})


@pytest.mark.parametrize("tokens", [["a", "a"], ["a", "b", "a"]])
def test_a_list_refuses_a_continue_token_that_comes_again(
    api: KubeApi, server: Script, tokens: list[str]
) -> None:
    server.answers(*(page(token, "train") for token in tokens), page("", "never asked for"))

    with pytest.raises(BadReply, match=r"cannot list ResourceClaim: .*it repeats an earlier continue token"):
        api.list(RESOURCE_CLAIMS)

    assert len(server.requests) == len(tokens)


@pytest.mark.parametrize("head", [UNFRAMED, FRAMED, REFUSAL])
@pytest.mark.parametrize("piece", [b"x", b"x" * 100])
def test_a_body_over_the_limit_is_refused_before_its_end(
    connect: Connect, server: Script, head: bytes, piece: bytes
) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}", largest_body_bytes=1000)
    server.answers(Endless(head, piece), FINE)

    with pytest.raises(BadReply, match=r"cannot get ResourceClaim default/train: .*larger than 1000 bytes"):
        api.get(RESOURCE_CLAIMS, "train", "default")

    assert api.get(RESOURCE_CLAIMS, "train", "default").metadata.name == "train"


def test_a_body_of_the_limit_is_read(connect: Connect, server: Script) -> None:
    body = b'{"metadata": {"name": "train"}}'
    api = connect(f"http://127.0.0.1:{server.server_port}", largest_body_bytes=len(body))
    server.answers(Reply(body))

    assert api.get(RESOURCE_CLAIMS, "train", "default").metadata.name == "train"


@pytest.mark.parametrize(
    ("head", "piece"), [(HEADER, b"x"), (FRAMED, b"x"), (UNFRAMED, b"x"), (CHUNKED, b"1\r\nx\r\n")]
)
def test_a_call_has_one_deadline_however_slowly_its_answer_comes(
    connect: Connect, server: Script, clock: Clock, head: bytes, piece: bytes
) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}", call_timeout_s=20.0, attempts=1)
    server.answers(Endless(head, piece))
    clock.step_s = 5.0

    with pytest.raises(Unavailable, match="cannot get ResourceClaim default/train: the answer took too long"):
        api.get(RESOURCE_CLAIMS, "train", "default")


def test_the_deadline_holds_for_all_attempts_together(connect: Connect, server: Script, clock: Clock) -> None:
    api = connect(
        f"http://127.0.0.1:{server.server_port}", call_timeout_s=60.0, attempts=1000, first_delay_s=1.0
    )
    server.answers(Reply(status(500), 500))

    with pytest.raises(Unavailable):
        api.get(RESOURCE_CLAIMS, "train", "default")

    assert 40.0 < sum(clock.slept) < 60.0


def test_a_deadline_does_not_touch_the_next_call_on_the_same_connection(
    connect: Connect, server: Script, clock: Clock
) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}", call_timeout_s=20.0)
    server.answers(FINE)

    for _ in range(3):
        api.get(RESOURCE_CLAIMS, "train", "default")
        clock.sleep(30.0)

    assert len(server.requests) == 3


def test_a_watch_has_a_deadline_however_slowly_a_line_comes(
    server: Script, watching: Watching, clock: Clock
) -> None:
    server.answers(listing(10), Endless(UNFRAMED), Stream((line("ADDED", "a", 11),), then="hang"))
    events = watching(watch_lasts_s=50.0, watch_idle_s=50.0, longest_line_bytes=10**9)
    assert isinstance(next(events), Synced)
    clock.step_s = 10.0

    broken = next(events)
    clock.step_s = 0.0

    assert isinstance(broken, Disconnected)
    assert "cannot watch ResourceClaim: the answer took too long" in str(broken.error)
    assert next(events) == Upserted(stored("a", 11))


@pytest.mark.parametrize("piece", [b"x", b"x" * 5000])
def test_a_line_over_the_limit_ends_the_connection(server: Script, watching: Watching, piece: bytes) -> None:
    server.answers(listing(10), Endless(UNFRAMED, piece), Stream((line("ADDED", "a", 11),), then="hang"))

    events = list(islice(watching(longest_line_bytes=1000), 3))

    assert [type(event) for event in events] == [Synced, Disconnected, Upserted]
    assert isinstance(events[1], Disconnected)
    assert isinstance(events[1].error, BadReply)
    assert "a line is longer than 1000 bytes" in str(events[1].error)


@pytest.mark.parametrize("bad", [b"no json\n", b"x" * 2000])
def test_a_line_that_can_never_be_read_is_passed_by_a_new_list(
    server: Script, watching: Watching, bad: Any
) -> None:
    unpassable = Stream((bad,))
    server.answers(listing(10), *[unpassable] * 3, listing(12, "a"), Stream((), then="hang"))

    events = list(islice(watching(longest_line_bytes=1000), 5))

    assert [type(event) for event in events] == [Synced, *[Disconnected] * 3, Synced]
    assert versions(server) == [None, "10", "10", "10", None]
