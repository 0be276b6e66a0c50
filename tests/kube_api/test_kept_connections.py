"""A connection is kept for the next call only while both sides know what comes next on it."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from scripted_api import Cut, Raw, Reply, Request, Script, Stream, document, status
from scripted_api.watching import line, listing

from kube_api import RESOURCE_CLAIMS, ApiError, Invalid, KubeApi, NotFound, Object, WatchEvent
from kube_api.calls import Call

FINE = Reply(document("train"))
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def get(api: KubeApi) -> str:
    return api.get(RESOURCE_CLAIMS, "train", "default").metadata.name


def connections(server: Script) -> int:
    """How many connections have brought requests."""
    return len({request.port for request in server.requests})


@pytest.mark.parametrize(
    "answer",
    [
        Reply(document("train")),
        Stream((document("train"),)),
        Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n{}"),
        Raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"),
    ],
)
def test_calls_one_after_another_share_a_connection(api: KubeApi, server: Script, answer: Reply) -> None:
    server.answers(answer)

    for _ in range(3):
        get(api)

    assert connections(server) == 1


@pytest.mark.parametrize("code", [404, 409, 500])
def test_a_refusal_leaves_the_connection_for_the_next_call(api: KubeApi, server: Script, code: int) -> None:
    server.answers(Reply(status(code), code, {"Retry-After": "100"}), FINE)

    with pytest.raises(ApiError):
        get(api)
    get(api)

    assert connections(server) == 1


@pytest.mark.parametrize("code", [204, 304])
def test_an_answer_without_a_body_leaves_the_connection_for_the_next_call(
    api: KubeApi, server: Script, code: int
) -> None:
    server.answers(Raw(b"HTTP/1.1 %d Nothing\r\nContent-Length: 99\r\n\r\n" % code), FINE)

    with pytest.raises(ApiError):
        get(api)

    assert get(api) == "train"
    assert connections(server) == 1


def test_a_connection_that_the_server_closed_meanwhile_is_noticed_before_a_write_is_sent(
    api: KubeApi, server: Script
) -> None:
    server.answers(Cut(WHOLE), FINE)
    get(api)
    assert server.hung_up.wait(30)

    assert api.create(RESOURCE_CLAIMS, document("train")).metadata.name == "train"

    assert connections(server) == 2


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nConnection: Close\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_a_server_that_will_close_the_connection_is_believed(
    api: KubeApi, server: Script, head: bytes
) -> None:
    server.answers(Raw(head), FINE)

    get(api)
    get(api)

    assert connections(server) == 2


@pytest.mark.parametrize(
    "broken",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 2000,
        b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_an_answer_that_was_not_read_to_its_end_takes_its_connection_with_it(
    connect: Callable[..., KubeApi], server: Script, broken: bytes
) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}", largest_body_bytes=1000, attempts=1)
    server.answers(Raw(broken), FINE)

    with pytest.raises(ApiError):
        get(api)

    assert get(api) == "train"
    assert connections(server) == 2


@pytest.mark.parametrize("more", [b"x" * 12_000, b" " * 9_000 + 9 * WHOLE])
def test_what_nobody_asked_for_is_no_answer_to_the_next_call(
    connect: Callable[..., KubeApi], secure_server: Script, certificate: Path, more: bytes
) -> None:
    authority = {"certificate-authority": str(certificate / "tls.crt")}
    api = connect(f"https://127.0.0.1:{secure_server.server_port}", authority, attempts=1)
    secure_server.answers(Raw(WHOLE + more), FINE)

    assert api.raw_get("/readyz") == "{}"

    assert get(api) == "train"
    assert connections(secure_server) == 2


def test_a_watch_that_its_server_ends_leaves_its_connection_to_the_next_one(
    server: Script, watching: Callable[..., Iterator[WatchEvent[Object]]]
) -> None:
    server.answers(
        listing(10),
        Stream((line("ADDED", "a", 11),)),
        Stream((line("ADDED", "b", 12),)),
        Stream((line("ADDED", "c", 13),), then="hang"),
    )

    assert len(list(islice(watching(), 4))) == 4

    assert connections(server) == 1


def test_a_stream_that_is_interrupted_after_its_end_breaks_no_other_call(
    api: KubeApi, server: Script
) -> None:
    server.answers(Stream((b"one\n",)), FINE)
    stream = api._caller.open(Call(attempted="watch", method="GET", path="/x"), 5.0)
    assert list(stream.lines()) == [b"one"]
    stream.close()

    stream.interrupt()

    assert get(api) == "train"
    assert connections(server) == 1


def test_a_stream_that_is_left_before_its_end_takes_its_connection_with_it(
    api: KubeApi, server: Script
) -> None:
    server.answers(Stream((b"one\n", b"two\n")), FINE)
    stream = api._caller.open(Call(attempted="watch", method="GET", path="/x"), 5.0)
    assert next(stream.lines()) == b"one"
    stream.close()

    assert get(api) == "train"
    assert connections(server) == 2


def test_calls_at_the_same_time_have_connections_and_answers_of_their_own(
    api: KubeApi, server: Script
) -> None:
    def named(request: Request) -> Reply:
        return Reply(document(request.path.rpartition("/")[2]))

    server.answers(named)
    names = [f"claim-{number}" for number in range(60)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: api.get(RESOURCE_CLAIMS, name, "default").metadata.name, names))

    assert found == names
    assert connections(server) <= 8


def test_closing_ends_the_connections_that_wait_and_later_ones_after_their_call(
    api: KubeApi, server: Script
) -> None:
    server.answers(FINE)
    get(api)

    api.close()
    assert server.hung_up.wait(30)
    server.hung_up.clear()

    assert get(api) == "train"
    assert server.hung_up.wait(30)


class Raced(deque[Any]):
    """Connections of which another thread takes the last one, just after this thread has looked."""

    def __bool__(self) -> bool:
        there = len(self) > 0
        self.clear()
        return there


@pytest.mark.parametrize("want", [get, KubeApi.close])
def test_two_threads_that_want_the_last_connection_at_once_both_go_on(
    connect: Callable[..., KubeApi],
    server: Script,
    monkeypatch: pytest.MonkeyPatch,
    want: Callable[[KubeApi], object],
) -> None:
    monkeypatch.setattr("kube_api.connections.deque", Raced)
    api = connect(f"http://127.0.0.1:{server.server_port}")
    server.answers(FINE)
    get(api)

    want(api)

    assert get(api) == "train"


def test_a_refused_token_that_is_read_anew_leaves_no_connection_of_the_old_one_waiting(
    connect: Callable[..., KubeApi], server: Script
) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}")
    server.answers(Reply(status(404), 404))
    with pytest.raises(NotFound):
        get(api)
    connect(f"http://127.0.0.1:{server.server_port}", user={"token": "second"})  # the same file, anew
    server.answers(Reply(status(401), 401), FINE)

    assert get(api) == "train"

    assert server.hung_up.wait(30)
    assert server.requests[-1].headers["Authorization"].endswith("second")


def test_an_answer_that_comes_before_the_whole_question_was_read_is_told(
    connect: Callable[..., KubeApi],
) -> None:
    large = document("train", spec={"text": "x" * 20_000_000})
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as server:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")

        served = server.submit(answer)
        api = connect(f"http://127.0.0.1:{listening.getsockname()[1]}", attempts=1)
        with pytest.raises(Invalid, match="413"):
            api.create(RESOURCE_CLAIMS, large)
        served.result(30)
