"""What is withheld is told once for each change: in the log, as an event on the Node, in the metrics."""

from __future__ import annotations

import logging

import pytest

from agent.inventory.model import NodeDevices
from agent.inventory.withheld import Cause, Reason, Withheld
from agent.publishing.forms import Found
from agent.publishing.metrics import Metrics
from agent.publishing.telling.withholding import Withholding
from scheduler_core.model.pool import Pool, PoolId

ROUTE = Reason(Cause.DEFAULT_ROUTE, "its interface eth0 carries the node's default route", "ask for a VF")
NO_RDMA = Reason(Cause.NO_RDMA, "it has no RDMA device", "the operator loads the module")
NIC = Withheld("nic-a", "nic", ROUTE)


class Noticeboard:
    """Keeps what is told, as a cluster keeps Events."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def warn(self, reason: str, text: str) -> None:
        self.told.append(("Warning", reason, text))

    def note(self, reason: str, text: str) -> None:
        self.told.append(("Normal", reason, text))


def found(*withheld: Withheld) -> Found:
    pool = Pool(id=PoolId("d.example", "node-1"))
    return Found(NodeDevices(shared=(), groups=(), by_name={}, pool=pool, withheld=withheld))


def vfs(count: int, reason: Reason = NO_RDMA) -> list[Withheld]:
    return [Withheld(f"vf-{number}", "vf", reason) for number in range(count)]


@pytest.fixture
def board() -> Noticeboard:
    return Noticeboard()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def withholding(metrics, board) -> Withholding:
    return Withholding(metrics, board)


def series(metrics) -> list[str]:
    return [
        line for line in metrics.text().splitlines() if line.startswith("tangram_agent_withheld_devices{")
    ]


def test_a_node_that_withholds_nothing_tells_nothing(withholding, board, metrics):
    withholding.discovered(found())

    assert board.told == []
    assert series(metrics) == []


def test_what_is_withheld_at_the_start_is_told_once_and_is_no_warning(withholding, board, caplog):
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        withholding.discovered(found(NIC))

    text = "nic-a: its interface eth0 carries the node's default route; ask for a VF"
    assert board.told == [("Normal", "DevicesWithheld", f"not offered: {text}")]
    assert [record.getMessage() for record in caplog.records] == [f"not offered: {text}"]


def test_what_is_withheld_later_is_a_warning_about_what_is_new_alone(withholding, board):
    withholding.discovered(found(NIC))
    withholding.discovered(found(NIC, *vfs(3)))

    kind, reason, text = board.told[-1]
    assert (len(board.told), kind, reason) == (2, "Warning", "DevicesWithheld")
    assert text.endswith("vf-0 and 2 more: it has no RDMA device; the operator loads the module")
    assert "nic-a" not in text


def test_what_is_over_is_told_and_a_new_reason_is_not_called_over(withholding, board):
    withholding.discovered(found(NIC, *vfs(2)))
    withholding.discovered(found(*vfs(2, ROUTE)))

    assert [(kind, reason) for kind, reason, _ in board.told[1:]] == [
        ("Warning", "DevicesWithheld"),
        ("Normal", "DevicesNoLongerWithheld"),
    ]
    assert board.told[-1][2] == "no longer withheld: nic-a"


def test_an_event_names_the_first_reasons_and_how_many_more_there_are(withholding, board):
    many = [Withheld(f"nic-{n}", "nic", Reason(Cause.UNREADABLE, f"reason {n}", "x")) for n in range(9)]
    withholding.discovered(found(*many))

    ((_, _, text),) = board.told
    assert "reason 3" in text
    assert "reason 4" not in text
    assert text.endswith("and 5 more; the agent's log has all of them")


def test_the_gauge_counts_by_type_and_reason_and_forgets_what_is_over(withholding, metrics):
    withholding.discovered(found(NIC, *vfs(3)))
    during = series(metrics)
    withholding.discovered(found(NIC))

    assert during == [
        'tangram_agent_withheld_devices{kind="nic",reason="default-route"} 1.0',
        'tangram_agent_withheld_devices{kind="vf",reason="no-rdma"} 3.0',
    ]
    assert series(metrics) == during[:1]
