"""A watch that breaks is told once; what passes by itself within a moment is not told at all."""

from __future__ import annotations

import logging
import threading

import pytest

from agent.publishing.metrics import Metrics
from agent.publishing.ports import Heard, Interrupted
from agent.publishing.watching import follow

NEW_KIND = "cannot watch compositeresourceslices: storage is (re)initializing (429 TooManyRequests)"
REFUSED = "cannot watch compositeresourceslices: connection refused"


class SliceStore:
    """Tells some changes, then ends the watch for good."""

    kind = "CompositeResourceSlice"

    def __init__(self, changes):
        self._changes = changes

    def changes(self, stop):
        yield from self._changes
        stop.set()


@pytest.fixture
def told(caplog):
    """Follow a store that tells these changes and return what operators read in the log."""

    def followed(*changes):
        with caplog.at_level(logging.INFO):
            ended, metrics = threading.Event(), Metrics()
            follow(SliceStore(changes), lambda _: None, metrics, ended=ended, slow_s=0.0)
        return caplog.messages

    return followed


def test_a_server_that_has_just_learned_the_kind_is_no_news(told):
    assert (
        told(Interrupted(NEW_KIND, 1.0), Heard(is_new=True), Interrupted(NEW_KIND, 1.0), Heard(is_new=True))
        == []
    )


def test_a_watch_that_stays_broken_is_told_once(told):
    messages = told(Heard(is_new=True), *[Interrupted(REFUSED, 1.0)] * 5)

    assert messages == [f"the watch of CompositeResourceSlices broke: {REFUSED}"]


def test_a_watch_that_breaks_after_the_kind_was_new_is_told(told):
    messages = told(Interrupted(NEW_KIND, 1.0), Interrupted(REFUSED, 1.0))

    assert messages == [f"the watch of CompositeResourceSlices broke: {REFUSED}"]
