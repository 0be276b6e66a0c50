"""Runs a trace through the policies, each on a cluster of its own that knows the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import inf

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import Policy
from scheduler_core.frontends.occupancy.meter import GpuMeter
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.planning.engine_holds import EngineHolds
from scheduler_core.planning.simulation import Simulation
from scheduler_core.state.cluster_state import ClusterState
from tangram.planning.collector import paused, set_aside
from tangram.planning.course import Course, Sample
from tangram.planning.traces.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What became of a trace under one policy.

    Shape: ``never`` fitted although nothing that ends was left; ``late`` had to wait; ``undecided`` questions
           at which the search gave up; ``refused_by_ask`` those that gave up or never fitted.
    Units: waits in seconds; ``in_use`` and ``fragmentation`` from 0 to 1, means over time.
    """

    arrivals: int
    placed: int
    refused: int
    never: int
    late: int
    undecided: int
    wait_mean_s: float
    wait_p95_s: float
    wait_most_s: float
    in_use: float
    fragmentation: float
    refused_by_ask: Mapping[int, int]
    samples: Sequence[Sample]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is replayed, and where. Shape: ``nodes`` in the order of trying. Units: seconds."""

    cluster: Cluster
    nodes: Sequence[Node]
    trace: Trace
    patience_s: float = inf


def simulate(scenario: Scenario, policy: Policy, tell: Callable[[int], None] = lambda _: None) -> Run:
    """Return what becomes of a trace on the cluster's nodes.

    Shape: ``tell`` is told now and then how many arrivals have come.
    Raises: as ``Engine.allocate``.
    """
    trace = scenario.trace
    with paused():
        state = ClusterState.of(scenario.cluster)
        for node in scenario.nodes:
            state.set_node(node)
        holds = EngineHolds(Engine(state, policy), trace.asks, scenario.nodes)
        course = Course(trace.arrivals, GpuMeter(state), tell)
    with set_aside():
        never = Simulation(trace.arrivals, holds, course, scenario.patience_s).run()
    waits = sorted(course.waits)
    return Run(
        arrivals=len(trace.arrivals),
        placed=len(waits),
        refused=course.refused,
        never=len(never),
        late=course.late,
        undecided=holds.undecided,
        wait_mean_s=sum(waits) / len(waits) if waits else 0.0,
        wait_p95_s=waits[max(0, -(-len(waits) * 95 // 100) - 1)] if waits else 0.0,
        wait_most_s=waits[-1] if waits else 0.0,
        in_use=course.in_use,
        fragmentation=course.fragmentation,
        refused_by_ask=course.refused_by_ask + Counter(trace.arrivals[one].ask for one in never),
        samples=course.samples,
    )
