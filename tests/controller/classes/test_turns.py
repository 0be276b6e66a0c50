"""When statuses are written: once in a while per class, never twice at once, never unchanged."""

import pytest

from controller.classes.statuses import ClassStatuses
from controller.classes.turns import StatusTurns
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import NODE, device, held, pool

CLASS = {
    "kind": "ResourceClass",
    "metadata": {"name": "gpus", "generation": 1},
    "spec": {
        "resourceSelector": [
            {"matchExpressions": [{"key": "type", "operator": "In", "values": ["gpu"]}]},
        ]
    },
}


class Site:
    """A state, its statuses, a clock that stands still, and a server that has one class."""

    def __init__(self):
        self.time_s = 0.0
        self.state = ClusterState()
        self.statuses = ClassStatuses(self.state)
        self.turns = StatusTurns(self.statuses, lambda: self.time_s, lambda: f"at {self.time_s}")
        self.state.set_node(NODE)
        self.state.set_pool(pool(*(device(f"gpu-{n}", attributes={"type": "gpu"}) for n in range(8))))
        self.statuses.set_class(CLASS)

    def end(self, write, *, is_written=True):
        if is_written:
            self.statuses.set_class({**CLASS, **write.document})
        self.turns.ended(write.name, is_written=is_written)

    def requested(self):
        return [one.document["status"]["requested"] for one in self.turns.due()]


@pytest.fixture
def site():
    return Site()


def test_a_new_class_is_written_at_once_and_then_rests(site):
    (write,) = site.turns.due()
    site.end(write)
    site.time_s = 1.0

    assert write.document["status"]["allocatable"] == 8
    assert site.turns.due() == ()
    assert site.turns.wait_s() is None


def test_many_changes_within_a_second_are_one_write(site):
    site.end(site.turns.due()[0])

    for number in range(5):
        site.state.hold(held(f"gpu-{number}", by=f"c{number}"))
        assert site.turns.due() == ()

    assert site.turns.wait_s() == 1.0
    site.time_s = 1.0
    assert site.requested() == [5]


def test_what_changes_and_changes_back_within_a_second_is_not_written(site):
    site.end(site.turns.due()[0])

    site.state.hold(held("gpu-0"))
    site.turns.due()
    site.state.release(held("gpu-0").ref)
    site.time_s = 1.0

    assert site.turns.due() == ()


def test_while_a_write_is_on_its_way_there_is_no_other(site):
    (write,) = site.turns.due()
    site.state.hold(held("gpu-0"))
    site.time_s = 5.0

    assert site.turns.due() == ()
    assert site.turns.wait_s() is None

    site.end(write)
    assert site.turns.wait_s() == 0.0
    assert site.requested() == [1]


def test_a_write_that_fails_is_repeated_after_a_time_that_grows(site):
    waits = []
    for _ in range(8):
        (write,) = site.turns.due()
        site.end(write, is_written=False)
        waits.append(site.turns.wait_s())
        site.time_s += waits[-1]

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_class_that_is_deleted_and_made_again_is_written_again(site):
    site.end(site.turns.due()[0])
    site.time_s = 1.0
    site.statuses.remove_class("gpus")
    assert site.turns.due() == ()

    site.statuses.set_class(CLASS)

    assert site.requested() == [0]


def test_a_class_that_is_deleted_during_a_write_is_forgotten(site):
    (write,) = site.turns.due()

    site.statuses.remove_class("gpus")
    site.turns.ended(write.name, is_written=False)

    assert site.turns.due() == ()
    assert site.turns.wait_s() is None
