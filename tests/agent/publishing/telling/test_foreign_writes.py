"""Policies that match nobody are told: without the question nobody would ever learn of them."""

from __future__ import annotations

import logging

import pytest

from agent.publishing.errors import NameTaken, NotAllowed, Outdated, Refused, Unreachable
from agent.publishing.metrics import Metrics
from agent.publishing.telling.foreign_writes import ForeignWrites, foreign_slice


class Server:
    """Answers dry runs as it is told."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def create(self, document, *, dry_run=False):
        assert dry_run, "nothing is ever stored for another node"
        self.asked.append(document)
        if answer := self.answers.pop(0):
            raise answer
        return document


class Events:
    def __init__(self):
        self.warnings = []

    def warn(self, reason, text):
        self.warnings.append((reason, text))


@pytest.fixture
def events():
    return Events()


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
def ask(events, metrics):
    """Ask some times and return the server."""

    def asked(times, *answers):
        server = Server(*answers)
        foreign = ForeignWrites(server, "tangram.dev", metrics, events)
        for _ in range(times):
            foreign.ask()
        return server

    return asked


def test_where_a_slice_of_another_node_would_be_stored_log_event_and_metric_say_so(
    ask, events, metrics, caplog
):
    with caplog.at_level(logging.WARNING):
        server = ask(3, None)

    ((reason, text),) = events.warnings
    assert reason == "ForeignSlicesAllowed"
    assert "tangram-slices-of-own-node" in text
    assert caplog.messages == [text]
    assert "tangram_agent_foreign_slices_allowed 1.0" in metrics.text()
    assert server.asked == [foreign_slice("tangram.dev")]


@pytest.mark.parametrize(
    "answer",
    [Outdated("it exists already"), NameTaken("ResourceSlice", foreign_slice("tangram.dev"))],
    ids=lambda answer: type(answer).__name__,
)
def test_where_only_the_name_is_in_the_way_no_policy_is(ask, events, metrics, answer):
    """A server looks whether a name is taken after all policies have let the slice through."""
    server = ask(3, answer)

    ((reason, _),) = events.warnings
    assert reason == "ForeignSlicesAllowed"
    assert "tangram_agent_foreign_slices_allowed 1.0" in metrics.text()
    assert len(server.asked) == 1


def test_where_a_policy_refuses_it_nothing_is_told_and_it_is_asked_once(ask, events, metrics):
    server = ask(3, NotAllowed("this token is of node node-1"))

    assert events.warnings == []
    assert "tangram_agent_foreign_slices_allowed 0.0" in metrics.text()
    assert len(server.asked) == 1


@pytest.mark.parametrize("failure", [Unreachable("gone"), Refused("too long")], ids=str)
def test_an_answer_that_says_nothing_is_asked_for_again(ask, events, metrics, failure):
    server = ask(3, failure, NotAllowed("no"))

    assert events.warnings == []
    assert len(server.asked) == 2


def test_the_slice_would_be_refused_for_its_node_alone():
    found = foreign_slice("tangram.dev")
    node = found["spec"]["nodeName"]

    assert found["metadata"]["name"] == f"{node}-tangram.dev-00"
    assert found["spec"]["pool"]["name"] == node
