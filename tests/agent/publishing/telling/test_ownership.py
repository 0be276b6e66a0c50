"""Who allocates a node's devices is told once for each change, by what the server stored."""

from __future__ import annotations

import logging

import pytest
from slice_keeper import slice_of

from agent.publishing.metrics import Metrics
from agent.publishing.taints.owned import MARK
from agent.publishing.telling.ownership import Ownership
from scheduler_core.model.ownership import CONTROLLER

TAINT = {
    "key": MARK.key,
    "value": MARK.value,
    "effect": str(MARK.effect),
    "timeAdded": "2026-11-22T00:00:00Z",
}


def slices(*taints):
    one = slice_of(0, 1, "a")
    return [{**one, "spec": {**one["spec"], "devices": [{"name": "a", "taints": list(taints)}]}}]


class Noticeboard:
    def __init__(self):
        self.told = []

    def warn(self, reason, text):
        self.told.append(("warn", reason, text))

    def note(self, reason, text):
        self.told.append(("note", reason, text))


@pytest.fixture
def board():
    return Noticeboard()


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
def ownership(metrics, board):
    return Ownership("node-1", metrics, board)


def test_an_owner_that_comes_and_goes_is_told_once_each(ownership, board, metrics):
    for _ in range(2):
        ownership.stored(CONTROLLER, slices(TAINT))
    assert 'tangram_agent_allocator{allocator="controller"} 1.0\n' in metrics.text()
    for _ in range(2):
        ownership.stored("", slices())

    assert [told[:2] for told in board.told] == [
        ("note", "DevicesOwnedByController"),
        ("note", "DevicesOwnedByKubeScheduler"),
    ]
    assert 'tangram_agent_allocator{allocator="kube-scheduler"} 1.0\n' in metrics.text()
    assert 'allocator="controller"' not in metrics.text()


def test_a_node_that_nobody_labelled_is_not_worth_a_word(ownership, board):
    ownership.stored("", slices())
    ownership.stored("kube-scheduler", slices())

    assert board.told == []


def test_a_server_that_drops_taints_is_told_loudly_and_the_controller_does_not_count_as_owner(
    ownership, board, metrics, caplog
):
    with caplog.at_level(logging.WARNING):
        ownership.stored(CONTROLLER, slices())
        ownership.stored(CONTROLLER, slices())

    ((level, reason, text),) = board.told
    assert (level, reason) == ("warn", "DevicesNotOwnedByController")
    assert "label tangram.dev/allocator=controller of Node node-1 has no effect" in text
    assert "feature gate DRADeviceTaints" in text
    assert caplog.messages == [text]
    assert 'tangram_agent_allocator{allocator="kube-scheduler"} 1.0\n' in metrics.text()
    assert "tangram_agent_allocator_refused 1.0\n" in metrics.text()


def test_once_the_server_keeps_taints_the_controller_is_the_owner(ownership, board, metrics):
    ownership.stored(CONTROLLER, slices())
    ownership.stored(CONTROLLER, slices(TAINT))

    assert [told[1] for told in board.told] == ["DevicesNotOwnedByController", "DevicesOwnedByController"]
    assert "tangram_agent_allocator_refused 0.0\n" in metrics.text()


def test_another_value_of_the_label_is_refused_with_the_rule(ownership, board):
    ownership.stored("contoller", slices())

    ((level, reason, text),) = board.told
    assert (level, reason) == ("warn", "UnknownAllocator")
    assert text == (
        'label tangram.dev/allocator=contoller of Node node-1 must be "controller" or absent: '
        "kube-scheduler allocates"
    )
