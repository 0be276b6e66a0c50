"""``tangram serve`` serves the page on a loopback address only, and says at once what keeps it from it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from threading import Event
from typing import Any
from urllib.request import urlopen

import pytest

from tangram.errors import Unreachable
from tangram.page.file_cluster import FileCluster

Run = Callable[..., Any]


@pytest.mark.parametrize("address", [":8765", "0.0.0.0:8765", "10.0.0.1:1", "[::]:1", "node-a:1"])
def test_an_address_that_others_reach_is_refused(tangram: Run, address: str) -> None:
    answer = tangram("serve", "--address", address)
    assert (answer.status, answer.out) == (2, "")
    assert "must be a loopback address" in answer.err


def test_an_address_without_a_host_is_refused(tangram: Run) -> None:
    answer = tangram("serve", "--address", "8765")
    assert (answer.status, answer.out) == (2, "")
    assert "must be HOST:PORT" in answer.err


def test_a_server_that_cannot_be_reached_is_told_before_anything_is_served(
    tangram: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: object, context: object) -> FileCluster:
        raise Unreachable("connection refused")

    monkeypatch.setattr("tangram.api.connect", refuse)
    answer = tangram("serve")
    assert (answer.status, answer.out) == (3, "")
    assert "connection refused" in answer.err


class Ending:
    """The end signal of a test: it comes at once, after the test has looked at what is served."""

    def __init__(self, look: Callable[[], object]) -> None:
        self.wait = look


@pytest.fixture
def empty_cluster(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A cluster without objects; the list gets what is done to it."""
    done: list[str] = []

    class Followed:
        kind, is_synced = "Pod", True

        def subscribe(self, hear: object) -> None:
            done.append("heard")

        def follow(self, stop: Event) -> list[str]:
            return []

    class Empty:
        page_kinds = (Followed(),)

        def close(self) -> None:
            done.append("closed")

    monkeypatch.setattr("tangram.api.connect", lambda *_: FileCluster(()))

    def followed(file: object, context: object, driver: str) -> Empty:
        done.append(f"opened for {driver}")
        return Empty()

    monkeypatch.setattr("tangram.page.serve.open_followed", followed)
    return done


def test_the_page_is_served_until_the_end_and_then_the_cluster_is_left(
    tangram: Run, monkeypatch: pytest.MonkeyPatch, empty_cluster: list[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found: list[Any] = []

    def look() -> None:
        for path in ("", "value.json"):
            with urlopen(f"http://127.0.0.1:{port}/{path}", timeout=30) as answer:
                found.append(answer.read().decode())

    monkeypatch.setattr("tangram.page.serve.EndSignal", lambda: Ending(look))
    answer = tangram("serve", f"--address=127.0.0.1:{port}", "--only-driver=gpu.example.com")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == f"serving http://127.0.0.1:{port}/ until Ctrl-C\n"
    page, value = found
    assert page.startswith("<!DOCTYPE html>")
    assert json.loads(value)["title"] == "the cluster · driver gpu.example.com only"
    assert json.loads(value)["live"] is True
    assert empty_cluster[-1] == "closed"


def test_an_address_that_is_in_use_is_told_and_the_cluster_is_left(
    tangram: Run, monkeypatch: pytest.MonkeyPatch, empty_cluster: list[str]
) -> None:
    monkeypatch.setattr("tangram.page.serve.EndSignal", lambda: Ending(lambda: None))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = tangram("serve", f"--address=127.0.0.1:{port}")
    assert (answer.status, answer.out) == (2, "")
    assert f"serve: listen on 127.0.0.1:{port}: Address already in use" in answer.err
    assert empty_cluster == ["opened for tangram.dev", "closed"]


def test_the_cluster_is_followed_for_the_driver_that_is_named(
    tangram: Run, monkeypatch: pytest.MonkeyPatch, empty_cluster: list[str]
) -> None:
    monkeypatch.setattr("tangram.page.serve.EndSignal", lambda: Ending(lambda: None))

    answer = tangram("serve", "--address=127.0.0.1:0", "--driver-name=gpu.example.com")

    assert answer.status == 0
    assert empty_cluster[0] == "opened for gpu.example.com"
