"""Simulations, against a naive replay that tries everyone in line after every departure."""

from __future__ import annotations

from math import inf

import pytest
from cut_boards import clusters, in_rack_a, node_pool, nodes_of, wants
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.frontends.occupancy.meter import GpuMeter
from scheduler_core.frontends.occupancy.view import OccupancyView
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation
from scheduler_core.planning.engine_holds import EngineHolds
from scheduler_core.planning.simulation import Arrival, Simulation, in_order
from scheduler_core.state.testing import ANY, held

ASKS = [(wants(1),), (wants(2),), (wants(3),), (wants(4),), (wants(2, 2, together=True),)]


class Diary:
    """Notes what happens, each with its time."""

    def __init__(self):
        self.now = 0.0
        self.notes = []

    def passes(self, until):
        assert until >= self.now
        self.now = until

    def arrives(self, number):
        self.notes.append((self.now, "arrives", number))

    def placed(self, number, allocation, waited):
        assert isinstance(allocation, Allocation)
        self.notes.append((self.now, "placed", number))
        assert waited >= 0

    def refuses(self, number):
        self.notes.append((self.now, "refused", number))

    def left(self, number):
        self.notes.append((self.now, "left", number))

    def of(self, what):
        return [(at, number) for at, kind, number in self.notes if kind == what]


def run(arrivals, patience=inf, *, boards=1, nodes=1, policy=BEST_FIT):
    pools = tuple(node_pool(f"n{number}", boards) for number in range(nodes))
    cluster = Cluster(pools=pools, classes={"any": ANY})
    holds = EngineHolds(Engine.of(cluster, policy), ASKS, nodes_of(cluster))
    diary = Diary()
    never = Simulation(arrivals, holds, diary, patience).run()
    return diary, never


WHOLE = 3


def test_what_does_not_fit_waits_until_claims_leave():
    diary, never = run([Arrival(0, 10, WHOLE), Arrival(1, 5, WHOLE)])

    assert diary.of("placed") == [(0, 0), (10, 1)]
    assert never == ()


def test_who_has_no_patience_is_refused_at_once_and_others_when_it_ends():
    arrivals = [Arrival(0, 10, WHOLE), Arrival(1, 5, WHOLE)]

    assert run(arrivals, 0)[0].of("refused") == [(1, 1)]
    assert run(arrivals, 3)[0].of("refused") == [(4, 1)]
    assert run(arrivals, 9)[0].of("placed") == [(0, 0), (10, 1)]


def test_the_oldest_in_line_is_tried_first_and_others_are_tried_as_well():
    """Two halves leave at 10 and 20. The whole board must wait for both, a quarter need not."""
    arrivals = [
        Arrival(0, 10, 1),
        Arrival(0, 20, 1),
        Arrival(1, 5, WHOLE),
        Arrival(2, 3, 0),
        Arrival(3, 3, 0),
    ]

    diary, _ = run(arrivals)

    assert diary.of("placed") == [(0, 0), (0, 1), (10, 3), (10, 4), (20, 2)]


def test_claims_that_leave_together_leave_before_anything_is_tried():
    arrivals = [Arrival(0, 10, 1), Arrival(0, 10, 1), Arrival(1, 5, WHOLE), Arrival(2, 5, 0)]

    assert run(arrivals)[0].of("placed")[2:] == [(10, 2), (15, 3)]


def test_what_stays_for_ever_keeps_others_from_ever_fitting():
    diary, never = run([Arrival(0, None, WHOLE), Arrival(1, 5, 0), Arrival(2, 5, 1)])

    assert never == (1, 2)
    assert diary.of("refused") == []


TIMES = st.lists(
    st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(1, 9)), st.integers(0, len(ASKS) - 1)),
    max_size=12,
)


@settings(max_examples=60)
@given(TIMES, st.sampled_from([0, 2, 5, inf]), st.sampled_from([FIRST_FIT, BEST_FIT]))
def test_a_simulation_does_what_a_naive_replay_does(times, patience, policy):
    arrivals, now = [], 0
    for later, stays, ask in times:
        now += later
        arrivals.append(Arrival(now, stays, ask))

    diary, never = run(arrivals, patience, policy=policy, nodes=2)

    expected, still = naive(arrivals, patience, policy)
    assert diary.notes == expected[: len(diary.notes)]
    assert {what for _, what, _ in expected[len(diary.notes) :]} <= {"left"}
    assert list(never) == still


class Naive:
    """Goes through all moments at which anything can happen, and tries everyone in line at each departure."""

    def __init__(self, arrivals, patience, policy):
        pools = tuple(node_pool(f"n{number}", 1) for number in range(2))
        cluster = Cluster(pools=pools, classes={"any": ANY})
        engine = Engine.of(cluster, policy)
        self.holds = EngineHolds(engine, ASKS, nodes_of(cluster))
        self.arrivals, self.patience = arrivals, patience
        self.notes, self.leaving, self.line = [], {}, []

    def tried(self, number, at):
        if self.holds.place(number, self.arrivals[number]) is None:
            return False
        self.notes.append((at, "placed", number))
        if self.arrivals[number].stays is not None:
            self.leaving[number] = at + self.arrivals[number].stays
        return True

    def moment(self, at):
        gone = sorted(number for number, end in self.leaving.items() if end == at)
        for number in gone:
            del self.leaving[number]
            self.holds.leave(number)
            self.notes.append((at, "left", number))
        if gone:
            self.line = [number for number in self.line if not self.tried(number, at)]
        for number in [one for one in self.line if self.arrivals[one].at + self.patience <= at]:
            self.line.remove(number)
            self.notes.append((at, "refused", number))
        for number in [one for one, arrival in enumerate(self.arrivals) if arrival.at == at]:
            self.arrives(number, at)

    def arrives(self, number, at):
        self.notes.append((at, "arrives", number))
        if self.tried(number, at):
            return
        if self.patience:
            self.line.append(number)
        else:
            self.notes.append((at, "refused", number))


def naive(arrivals, patience, policy):
    replay = Naive(arrivals, patience, policy)
    for at in range((arrivals[-1].at if arrivals else 0) + 13 * 12):
        replay.moment(at)
    return replay.notes, replay.line


def test_the_same_trace_gives_the_same_course():
    arrivals = [Arrival(number, 7, number % len(ASKS)) for number in range(30)]

    assert run(arrivals, 9, boards=2)[0].notes == run(arrivals, 9, boards=2)[0].notes


def test_arrivals_of_one_time_stay_in_order():
    assert [one.ask for one in in_order([Arrival(5, 1, 0), Arrival(1, 1, 1), Arrival(5, 1, 2)])] == [1, 0, 2]


@given(clusters())
@settings(max_examples=25)
def test_arrivals_hold_devices_under_names_of_their_own_and_give_them_back(cluster):
    engine = Engine.of(cluster, BEST_FIT)
    holds = EngineHolds(engine, ASKS, nodes_of(cluster))
    before = [
        one.state for name in nodes_of(cluster) for one in engine.state.views.node_view(name).components
    ]

    got = [number for number in range(4) if holds.place(number, Arrival(0, 1, number % 2)) is not None]
    for number in got:
        holds.leave(number)

    after = [one.state for name in nodes_of(cluster) for one in engine.state.views.node_view(name).components]
    assert after == before


@pytest.mark.parametrize("policy", [FIRST_FIT, BEST_FIT])
def test_arrivals_get_devices_of_a_pool_that_selects_nodes_by_a_label(policy):
    pools = (in_rack_a(node_pool("of-rack-a", 1)),)
    engine = Engine.of(Cluster(pools=pools, classes={"any": ANY}), policy)
    holds = EngineHolds(engine, [(wants(2),)], [Node("n1", {"rack": "b"}), Node("n2", {"rack": "a"})])

    got = [holds.place(number, Arrival(0, 1, 0)) for number in range(3)]

    assert [one and one.node for one in got] == ["n2", "n2", None]


def test_an_arrival_takes_no_name_of_a_claim_that_holds_devices_without_a_uid():
    held_before = held("b0-1-at-0", by="wanted-0", pool_name="n1")
    cluster = Cluster(pools=(node_pool("n1", 1),), classes={"any": ANY}, allocated=(held_before,))
    engine = Engine.of(cluster, BEST_FIT)
    holds = EngineHolds(engine, ASKS, nodes_of(cluster))

    assert holds.place(0, Arrival(0, 1, 0)) is not None
    holds.leave(0)

    assert engine.state.assignments.get(held_before.ref) == held_before


@pytest.mark.parametrize("name", ["view", "meter"])
def test_a_state_without_gpus_has_no_use_and_no_room(name):
    state = Engine.of(Cluster(pools=(node_pool("n1", 1),), classes={"any": ANY}), BEST_FIT).state

    if name == "view":
        assert OccupancyView(state).cluster().room is None
    else:
        found = GpuMeter(state).read()
        assert (found.gpus, found.in_use, found.room.fragmentation) == (0, 0.0, 0.0)
