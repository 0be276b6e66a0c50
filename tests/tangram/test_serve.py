"""``tangram serve`` serves the page on a loopback address only, and says at once what keeps it from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
