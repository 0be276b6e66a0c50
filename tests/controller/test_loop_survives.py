"""Errors that nobody expected end neither the controller nor the service of other pods; no busy loop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pytest
from claims_at_server import Document, Server, claim, device_class, machine, node, pod
from claims_at_server.world import READERS

from controller.decide.allocator import Allocator
from controller.decide.decisions import Decision
from controller.decide.question import Question
from controller.metrics import Metrics
from controller.run.classes import ResourceClasses
from controller.run.coordinator import Coordinator, Patience
from controller.run.loop import Loop
from controller.run.report import Report
from controller.run.surprises import Surprises
from controller.run.writer import Writer
from controller.state.cluster_seen import ClusterSeen
from daemon.log_fields import AddFields, fields_of

KINDS = ("DeviceClass", "Node", "ResourceSlice", "ResourceClaim", "Pod")


class Shown:
    """Objects of one kind as a watch shows them, when the test says so."""

    is_synced = True

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.is_heard = Event()
        self.hear: Callable[[str, str, Any, Any], None]

    def subscribe(self, hear: Callable[[str, str, Any, Any], None]) -> None:
        self.hear = hear
        self.is_heard.set()

    def follow(self, _stop: Event) -> Iterator[str]:
        yield ""


class Running:
    """A loop over a server in memory, whose changes ``show`` delivers."""

    def __init__(self) -> None:
        self.server = Server()
        self.seen = ClusterSeen("tangram.dev")
        self.allocator = Allocator(self.seen, lambda: "share")
        self.coordinator = Coordinator(self.seen, self.allocator, Patience(settle_s=0.0))
        self.metrics = Metrics()
        self.watched = tuple(map(Shown, KINDS))
        self.loop = Loop(
            self.coordinator,
            self.watched,
            Writer(self.server, lambda: True, lambda: "2026-01-01T00:00:00Z"),
            is_leading=lambda: True,
            clock=monotonic,
            report=Report(self.metrics, None, monotonic),
            classes=ResourceClasses(self.seen, monotonic, lambda: "2026-01-01T00:00:00Z"),
        )
        for name in ("gpu", "half"):
            self.server.put("DeviceClass", device_class(name))
        self.server.put("Node", node("node-a"))
        for one in machine("node-a"):
            self.server.put("ResourceSlice", one)

    def ask(self, name: str) -> None:
        self.server.put("ResourceClaim", claim(name))
        self.server.put("Pod", pod(name, name))

    def show(self) -> None:
        """Deliver what happened at the server, read by the readers."""
        changes, self.server.changes = self.server.changes, []
        for kind, name, document in changes:
            (watched,) = (one for one in self.watched if one.kind == kind)
            watched.hear("default", name, None, None if document is None else READERS[kind](document))

    def has_devices(self, name: str) -> bool:
        return bool((self.server.claim(name).get("status") or {}).get("allocation"))

    def failures(self, of: str) -> int:
        lines = self.metrics.text().splitlines()
        name = f'tangram_controller_unforeseen_failures_total{{of="{of}"}} '
        return next((round(float(one.removeprefix(name))) for one in lines if one.startswith(name)), 0)


@contextmanager
def running(one: Running) -> Iterator[None]:
    thread = Thread(target=one.loop.run)
    thread.start()
    try:
        assert all(each.is_heard.wait(30) for each in one.watched)
        one.show()
        yield
    finally:
        one.loop.stop()
        thread.join(30)
    assert not thread.is_alive()


def eventually(is_so: Callable[[], bool]) -> None:
    until = monotonic() + 60
    while not is_so():
        assert monotonic() < until, "it did not come to be"
        sleep(0.02)


def test_a_change_that_cannot_be_taken_in_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    one = Running()
    one.ask("good")
    caplog.handler.addFilter(AddFields())
    with running(one), caplog.at_level(logging.ERROR):
        one.watched[-1].hear("default", "bad", None, object())
        one.show()
        eventually(lambda: one.has_devices("good"))
        one.watched[-1].hear("default", "bad", None, object())
        eventually(lambda: one.failures("change") == 2)
    (told,) = [each for each in caplog.records if each.name == "controller" and each.exc_info]
    assert "a change of Pod default/bad" in told.getMessage()
    assert fields_of(told) == {"namespace": "default", "pod": "bad"}


def test_a_pod_that_cannot_be_decided_about_is_set_aside_and_the_others_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = Running()
    decide, tried = one.allocator.decide, list[str]()

    def failing(question: Question, *rest: Any) -> Decision:
        tried.append(question.pod.ref.name)
        if question.pod.ref.name == "bad":
            raise ZeroDivisionError("made up")
        return decide(question, *rest)

    monkeypatch.setattr(one.allocator, "decide", failing)
    one.ask("bad")
    one.ask("good")
    with running(one):
        eventually(lambda: one.has_devices("good"))
        eventually(lambda: one.failures("decision") == 2)
        eventually(lambda: bool(one.server.pods()["bad"].get("status")))
    assert tried.count("bad") <= 3  # after 0, 1 and 3 seconds
    (condition,) = one.server.pods()["bad"]["status"]["conditions"]
    assert "unexpected error" in condition["message"]


def test_a_write_that_ends_unexpectedly_leaves_no_pod_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Running()
    writing, failed = one.server.replace_claim_status, list[str]()

    def failing(document: Document) -> Document:
        if not failed:
            failed.append(document["metadata"]["name"])
            raise ZeroDivisionError("made up")
        return writing(document)

    monkeypatch.setattr(one.server, "replace_claim_status", failing)
    one.ask("p")
    with running(one):
        one.show()
        eventually(lambda: one.failures("write") == 1)
        one.show()  # the finalizer that was written before
        eventually(lambda: one.has_devices("p"))


def test_a_loop_that_cannot_turn_is_unwell_until_it_turns_again() -> None:
    now = [0.0]
    surprises = Surprises(Metrics(), lambda: now[0])
    for _ in range(3):
        surprises.stopped(ZeroDivisionError("made up"))
        assert surprises.is_pausing
        surprises.went_well()
        now[0] += 100.0
        assert not surprises.is_pausing
    assert surprises.unwell_s() == 300.0
    surprises.went_well()
    assert surprises.unwell_s() == 0.0


def test_the_waits_of_a_loop_that_cannot_turn_grow_to_a_minute() -> None:
    now = [0.0]
    surprises = Surprises(Metrics(), lambda: now[0])
    waits = []
    for _ in range(8):
        surprises.stopped(ZeroDivisionError("made up"))
        began = now[0]
        while surprises.is_pausing:
            now[0] += 0.5
        waits.append(now[0] - began)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
