"""What fails for now is tried again, as often as it may and only where that does no harm."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest
from scripted_api import Clock, Cut, Hang, Reply, Script, document, status

from kube_api import NODES, RESOURCE_CLAIMS, KubeApi, NotFound, PatchKind, Unavailable

BUSY = Reply(status(429, "TooManyRequests", "busy"), 429, {"Retry-After": "7"})
BROKEN = Reply(status(500, "InternalError", "broken"), 500)
FINE = Reply(document("train"))


@pytest.mark.parametrize("failure", [BUSY, BROKEN, Reply(b"", 503), Cut(), Cut(b"HTTP/1.1 200 OK\r\nConte")])
def test_a_read_is_repeated_until_it_works(api: KubeApi, server: Script, failure: Reply | Cut) -> None:
    server.answers(failure, failure, FINE)

    assert api.get(RESOURCE_CLAIMS, "train", "default").metadata.name == "train"

    assert len(server.requests) == 3


def test_an_answer_that_is_cut_in_the_middle_is_read_again(api: KubeApi, server: Script) -> None:
    server.answers(Cut(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"metadata": '), FINE)

    assert api.get(RESOURCE_CLAIMS, "train", "default").metadata.name == "train"


def test_delays_double_and_are_never_shorter_than_the_server_asked_for(
    connect: Callable[..., KubeApi], server: Script, clock: Clock
) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}", first_delay_s=1.0, longest_delay_s=3.0)
    server.answers(BROKEN, BUSY, BROKEN, BROKEN, FINE)

    api.get(RESOURCE_CLAIMS, "train", "default")

    assert clock.slept == [0.5, 7.0, 1.5, 1.5]


def test_the_last_failure_is_the_answer(api: KubeApi, server: Script) -> None:
    server.answers(BROKEN)

    with pytest.raises(Unavailable, match="broken"):
        api.get(RESOURCE_CLAIMS, "train", "default")

    assert len(server.requests) == 5


def test_a_server_that_wants_more_time_than_we_have_is_told_at_once(
    api: KubeApi, server: Script, clock: Clock
) -> None:
    server.answers(Reply(status(429), 429, {"Retry-After": "3600"}))

    with pytest.raises(Unavailable) as caught:
        api.get(RESOURCE_CLAIMS, "train", "default")

    assert caught.value.retry_after_s == 3600.0
    assert clock.slept == []


def creating(api: KubeApi) -> object:
    return api.create(RESOURCE_CLAIMS, document("train"))


def json_patching(api: KubeApi) -> object:
    return api.patch(RESOURCE_CLAIMS, "train", [], "default", kind=PatchKind.JSON)


@pytest.mark.parametrize("write", [creating, json_patching])
@pytest.mark.parametrize("failure", [BROKEN, Cut()])
def test_a_write_that_may_have_happened_is_not_done_twice(
    api: KubeApi, server: Script, write: Callable[[KubeApi], object], failure: Any
) -> None:
    server.answers(failure, FINE)

    with pytest.raises(Unavailable):
        write(api)

    assert len(server.requests) == 1


@pytest.mark.parametrize("write", [creating, json_patching])
@pytest.mark.parametrize("failure", [BUSY, Reply(status(503), 503, {"Retry-After": "1"})])
def test_a_write_that_the_server_put_off_is_repeated(
    api: KubeApi, server: Script, write: Callable[[KubeApi], object], failure: Reply
) -> None:
    server.answers(failure, FINE)

    write(api)

    assert len(server.requests) == 2


def test_a_write_that_found_nobody_is_repeated(connect: Callable[..., KubeApi], clock: Clock) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        api = connect(f"http://127.0.0.1:{nobody.getsockname()[1]}")

        with pytest.raises(Unavailable, match=r"cannot create ResourceClaim default/train: .*refused"):
            creating(api)

    assert len(clock.slept) == 4


def test_a_deletion_whose_answer_got_lost_is_done_when_nothing_is_left(api: KubeApi, server: Script) -> None:
    server.answers(Cut(), Reply(status(404, "NotFound"), 404))

    api.delete(RESOURCE_CLAIMS, "train", "default")

    assert len(server.requests) == 2


def test_a_deletion_that_was_only_put_off_tells_when_nothing_was_there(api: KubeApi, server: Script) -> None:
    server.answers(Reply(status(404, "NotFound"), 404))

    with pytest.raises(NotFound):
        api.delete(RESOURCE_CLAIMS, "train", "default")


def test_a_server_that_hangs_is_given_up(connect: Callable[..., KubeApi], server: Script) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}", read_timeout_s=0.05, attempts=2)
    server.answers(Hang())

    with pytest.raises(Unavailable, match="cannot get Node a: the server sent nothing for too long"):
        api.get(NODES, "a")

    assert server.have_come(2)
    assert len(server.requests) == 2


def test_calls_are_no_faster_than_allowed(
    connect: Callable[..., KubeApi], server: Script, clock: Clock
) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}", calls_per_s=4.0, burst=2)
    server.answers(FINE)

    for _ in range(4):
        api.get(RESOURCE_CLAIMS, "train", "default")

    assert clock.slept == [0.25, 0.25]
