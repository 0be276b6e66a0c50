"""Whoever reads an object can work while the server thinks."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest
from scripted_api import Cut, Reply, Request, Script, document

from kube_api import RESOURCE_CLAIMS, KubeApi, Unavailable

FINE = Reply(document("train"))


class Broken(Exception):
    """What a deed of somebody else's may raise."""


def read(api: KubeApi, meanwhile: Callable[[], None]) -> str:
    return api.get(RESOURCE_CLAIMS, "train", "default", meanwhile).metadata.name


@pytest.mark.parametrize("scheme", ["http", "https", "through a proxy"])
def test_the_server_has_the_question_before_the_deed_and_the_deed_does_not_wait_for_the_answer(
    request: pytest.FixtureRequest, connect: Callable[..., KubeApi], scheme: str
) -> None:
    server: Script = request.getfixturevalue("secure_server" if scheme == "https" else "server")
    asked, done = Event(), Event()

    def answer(_: Request) -> Reply:
        asked.set()
        assert done.wait(10.0)
        return FINE

    def deed() -> None:
        assert asked.wait(10.0)
        done.set()

    address = f"127.0.0.1:{server.server_port}"
    if scheme == "https":
        api = connect(f"https://{address}", {"insecure-skip-tls-verify": True})
    elif scheme == "http":
        api = connect(f"http://{address}")
    else:
        api = connect("http://api.invalid:6443", {"proxy-url": f"http://{address}"})
    server.answers(answer)

    assert read(api, deed) == "train"


@pytest.mark.parametrize("failure", [Cut(), Reply(b"", 503), Cut(b"HTTP/1.1 200 OK\r\nConte")])
def test_a_question_that_is_repeated_repeats_no_deed(
    api: KubeApi, server: Script, failure: Cut | Reply
) -> None:
    deeds: list[int] = []
    server.answers(failure, failure, FINE)

    read(api, lambda: deeds.append(len(server.requests)))

    assert len(deeds) == 1


def test_the_deed_is_done_once_for_each_read_and_for_no_other_call(api: KubeApi, server: Script) -> None:
    deeds: list[str] = []
    server.answers(FINE)

    read(api, lambda: deeds.append("first"))
    api.get(RESOURCE_CLAIMS, "train", "default")
    read(api, lambda: deeds.append("second"))

    assert deeds == ["first", "second"]


def test_what_the_deed_raises_leaves_and_the_next_call_gets_its_own_answer(
    api: KubeApi, server: Script
) -> None:
    def breaks() -> None:
        assert server.asked.wait(30)  # the server has read the call before it is given up
        raise Broken

    server.answers(Reply(document("of nobody")), FINE)
    with pytest.raises(Broken):
        read(api, breaks)

    assert api.get(RESOURCE_CLAIMS, "train", "default").metadata.name == "train"


def test_a_server_that_cannot_be_reached_leaves_the_deed_undone(connect: Callable[..., KubeApi]) -> None:
    deeds: list[str] = []

    with pytest.raises(Unavailable):
        read(connect("http://127.0.0.1:9"), lambda: deeds.append("done"))

    assert deeds == []
