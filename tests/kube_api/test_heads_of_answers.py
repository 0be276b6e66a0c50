"""What an answer says of itself is read as HTTP says; what is unclear is an error and never a guess."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scripted_api import Cut, Raw, Reply, Script, status

from kube_api import NODES, KubeApi, Unavailable

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def once(connect: Callable[..., KubeApi], server: Script) -> KubeApi:
    """A client that repeats nothing."""
    return connect(f"http://127.0.0.1:{server.server_port}", attempts=1)


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 4\r\n\r\nfine",
        OK + b"content-length:4\r\n\r\nfine",
        b"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nfine",
        OK + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\nfine",
        OK + b"Content-Length:\r\n 4\r\n\r\nfine",
        OK + b"Content-Length: 4\n\nfine",
        CHUNKED + b"4\r\nfine\r\n0\r\n\r\n",
        CHUNKED + b"2;name=value\r\nfi\r\n2\r\nne\r\n0\r\nTrailer: x\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 4\r\n\r\nfine",
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
        + OK
        + b"Content-Length: 4\r\n\r\nfine",
        b"".join([OK, *(b"X-Header-%d: x\r\n" % one for one in range(99)), b"Content-Length: 4\r\n\r\nfine"]),
        OK + b"X-Long: " + b"x" * 60_000 + b"\r\nContent-Length: 4\r\n\r\nfine",
    ],
)
def test_every_way_to_say_where_a_body_ends_is_understood(
    api: KubeApi, server: Script, answer: bytes
) -> None:
    server.answers(Raw(answer))

    assert [api.raw_get("/readyz"), api.raw_get("/readyz")] == ["fine", "fine"]
    assert len({request.port for request in server.requests}) == 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "the server closed the connection before it had answered"),
        (b"HTTP/1.1 200", "before it had answered"),
        (OK, "before it had answered"),
        (OK + b"Content-Length: 4\r\n", "before it had answered"),
        (OK + b"Content-Length: 4", "before it had answered"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "before it had answered"),
        (OK + b"Content-Length: 4\r\n\r\n", "before the answer was complete"),
        (OK + b"Content-Length: 4\r\n\r\nfin", "before the answer was complete"),
        (OK + b"\r\nfine", "before the answer was complete"),
        (CHUNKED, "before the answer was complete"),
        (CHUNKED + b"4\r\nfi", "before the answer was complete"),
        (CHUNKED + b"4\r\nfine\r\n", "before the answer was complete"),
    ],
)
def test_an_answer_that_is_cut_is_no_answer(once: KubeApi, server: Script, answer: bytes, told: str) -> None:
    server.answers(Cut(answer))

    with pytest.raises(Unavailable, match=f"cannot read /readyz: .*{told}"):
        once.raw_get("/readyz")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (OK + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nfine", "no clear Content-Length"),
        (OK + b"Content-Length: 4, 5\r\n\r\nfine", "no clear Content-Length"),
        (OK + b"Content-Length: -4\r\n\r\nfine", "no clear Content-Length"),
        (OK + b"Content-Length: +4\r\n\r\nfine", "no clear Content-Length"),
        (OK + b"Content-Length: 0x4\r\n\r\nfine", "no clear Content-Length"),
        (OK + b"Content-Length: \r\n\r\nfine", "no clear Content-Length"),
        (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nfine", "no clear Content-Length"),
        (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "unknown Transfer-Encoding"),
        (
            OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "unknown Transfer-E",
        ),
        (OK + b"Transfer-Encoding: chunked\x0b\r\n\r\n0\r\n\r\n", "unknown Transfer-Encoding"),
        (OK + b"Transfer-Encoding : gzip\r\nContent-Length: 4\r\n\r\nfine", "a header without a name"),
        (OK + b"Content-Length : 4\r\n\r\nfine", "a header without a name"),
        (OK + b" Content-Length: 4\r\n\r\nfine", "a header without a name"),
        (OK + b": 4\r\nContent-Length: 4\r\n\r\nfine", "a header without a name"),
        (OK + b"X\0: 1\r\nContent-Length: 4\r\n\r\nfine", "a header without a name"),
        (OK + b"no colon here\r\nContent-Length: 4\r\n\r\nfine", "a header without a name"),
        (OK + b"X: 1\rContent-Length: 5\r\nContent-Length: 4\r\n\r\nfine", "a line end within a line"),
        (OK + b"Content-Length: 4\r\n\r\r\nConnection: close\r\n\r\nfine", "a line end within a line"),
        (b"HTTP/1.1 099 OK\r\nContent-Length: 4\r\n\r\nfine", "HTTP/1.1 099 OK"),
        (b"HTTP/1.1 000 OK\r\nContent-Length: 4\r\n\r\nfine", "HTTP/1.1 000 OK"),
        (b"HTTP/2.0 200 OK\r\nContent-Length: 4\r\n\r\nfine", "HTTP/2.0 200 OK"),
        (b"HTTP/1.1 20 OK\r\nContent-Length: 4\r\n\r\nfine", "HTTP/1.1 20 OK"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "SSH-2.0-OpenSSH"),
        (OK + b"X-Long: " + b"x" * 70_000, "header line"),
        (b"".join([OK, *(b"X-Header-%d: x\r\n" % one for one in range(101))]), "more than 100 headers"),
        (CHUNKED + b"fine\r\n", "before the answer was complete"),
        (CHUNKED + b"-5\r\nfine\r\n0\r\n\r\n", "before the answer was complete"),
        (CHUNKED + b"-1\r\nfine\r\n0\r\n\r\n", "before the answer was complete"),
    ],
)
def test_an_answer_that_can_be_read_in_two_ways_is_not_read(
    once: KubeApi, server: Script, answer: bytes, told: str
) -> None:
    server.answers(Raw(answer))

    with pytest.raises(Unavailable, match=f"cannot read /readyz: .*{told}"):
        once.raw_get("/readyz")


def test_how_long_to_wait_is_read_from_the_head(once: KubeApi, server: Script) -> None:
    server.answers(Reply(status(503), 503, {"Retry-After": "7"}))

    with pytest.raises(Unavailable) as caught:
        once.get(NODES, "a")

    assert caught.value.retry_after_s == 7.0


@pytest.mark.parametrize(
    "path", ["/x HTTP/1.1\r\nX-Evil: 1", "/x\nX-Evil: 1", "/x y", "/x\ty", "/x\0", "/\N{SNOWMAN}", "/x\x7f"]
)
def test_a_path_cannot_become_another_request(api: KubeApi, server: Script, path: str) -> None:
    with pytest.raises(ValueError, match="a request cannot have such characters"):
        api.raw_get(path)

    assert server.requests == []


def test_a_selector_with_line_ends_stays_in_its_place(api: KubeApi, server: Script) -> None:
    server.answers(Reply({"metadata": {}, "items": []}))

    api.list(NODES, label_selector="a\r\nX-Evil: 1 ü")

    assert server.requests[0].query["labelSelector"] == "a\r\nX-Evil: 1 ü"
    assert "X-Evil" not in server.requests[0].headers


@pytest.mark.parametrize("agent", ["two\r\nX-Evil: 1", "unicode-ü"])
def test_a_header_cannot_become_two(
    connect: Callable[..., KubeApi], server: Script, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    usual = KubeApi.connect
    monkeypatch.setattr(
        KubeApi, "connect", lambda *args, **rest: usual(*args, **{**rest, "user_agent": agent})
    )
    api = connect(f"http://127.0.0.1:{server.server_port}")

    with pytest.raises(ValueError, match="a request cannot have such characters"):
        api.get(NODES, "a")

    assert server.requests == []
