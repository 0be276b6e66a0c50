"""A pod whose devices could be spread in too many ways is undecided, never refused."""

import pytest

from scheduler_core.frontends.pods import place
from scheduler_core.frontends.pods.many_nodes import place_pod_somewhere
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import ask_of
from scheduler_core.frontends.pods.reported import ReportedDevice, pool_of
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Undecided
from scheduler_core.state.cluster_state import ClusterState

GPUS = 4


@pytest.fixture
def asked():
    gpus = [
        ReportedDevice(
            kind="gpu",
            minor=minor,
            total={"koordinator.sh/gpu-core": 100, "koordinator.sh/gpu-memory-ratio": 100},
        )
        for minor in range(GPUS)
    ]
    cluster = Cluster(pools=(pool_of("node-1", gpus),), classes={})
    return ask_of(
        "Pod default/p", {"koordinator.sh/gpu-core": 200, "koordinator.sh/gpu-memory-ratio": 200}, {}
    ), PodPlacer(ClusterState.of(cluster))


def test_a_pod_is_placed_within_the_bound(asked):
    ask, placer = asked

    assert place_pod_somewhere(ask, placer, [Node("node-1")], {}).placed is not None


def test_at_the_bound_nobody_is_told_that_the_pod_does_not_fit(asked, monkeypatch):
    monkeypatch.setattr(place, "DECISION", 0)
    ask, placer = asked

    answer = place_pod_somewhere(ask, placer, [Node("node-1")], {})

    assert answer.placed is None
    assert not answer.refused
    assert isinstance(answer.undecided[0], Undecided)
