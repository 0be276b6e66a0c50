"""Whether an API server is new enough."""

from __future__ import annotations

import logging
from queue import SimpleQueue

import pytest

from daemon.oldest_server import OldestServer, refusal

OLD = refusal("v1.33.2")


class Server:
    """An API server that gives these answers, one after the other, each after a permission."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = list(answers)
        self.measured: list[float] = []
        self.waits: SimpleQueue[float] = SimpleQueue()
        self.go_on: SimpleQueue[None] = SimpleQueue()
        self.checked = OldestServer(self._ask, self.measured.append, self._wait)

    def _ask(self) -> str:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _wait(self, seconds: float) -> None:
        self.waits.put(seconds)
        self.go_on.get()


def test_an_older_version_is_named_with_the_one_that_is_needed() -> None:
    assert refusal("v1.33.2") == (
        "the API server is Kubernetes v1.33.2 and does not serve resource.k8s.io/v1: "
        "Kubernetes 1.34 or newer is needed; the administrator upgrades the control plane"
    )


@pytest.mark.parametrize("version", ["v1.34.0", "v1.36.2+k3s1", "v2.0.0"])
def test_a_new_version_that_has_the_api_turned_off_is_told_so(version: str) -> None:
    assert "the administrator turns on this API" in refusal(version)


@pytest.mark.parametrize("version", ["", "unknown", "v1"])
def test_a_version_that_nobody_understands_is_refused_all_the_same(version: str) -> None:
    assert "Kubernetes 1.34 or newer is needed" in refusal(version)


def test_a_server_that_can_be_used_is_waited_for_by_nobody() -> None:
    server = Server("")
    server.checked.begin()

    assert server.checked.passes(60.0)
    assert server.measured == [0.0]


def test_an_old_server_is_told_once_and_passes_after_its_upgrade(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    server = Server(OLD, OLD, RuntimeError("it is being upgraded"), "")
    server.checked.begin()

    waits = []
    for _ in range(3):
        waits.append(server.waits.get(timeout=60))
        server.go_on.put(None)

    assert server.checked.passes(60.0)
    assert waits == [300.0, 300.0, 30.0]
    assert server.measured == [1.0, 1.0, 0.0]
    assert [message.partition(";")[0] for message in caplog.messages] == [
        OLD.partition(";")[0],
        "the API server serves resource.k8s.io/v1 now",
    ]


def test_a_program_that_waits_for_an_upgrade_ends_when_it_is_stopped() -> None:
    server = Server(OLD)
    server.checked.begin()
    server.waits.get(timeout=60)
    assert server.checked.is_refused

    server.checked.stop()

    assert not server.checked.passes(60.0)


def test_a_server_that_does_not_answer_keeps_nobody_and_is_asked_again() -> None:
    server = Server(RuntimeError("no route"), OLD)
    server.checked.begin()

    assert server.checked.passes(60.0)
    assert server.waits.get(timeout=60) == 30.0
    server.go_on.put(None)
    assert server.waits.get(timeout=60) == 300.0
    assert server.checked.is_refused
