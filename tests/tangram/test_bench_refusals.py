"""``tangram bench refusals`` and ``many-nodes``: streams in a made-up cluster, and what is counted."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator, Mapping
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.ownership import GATE
from scheduler_core.planning.simulation import Arrival
from tangram.bench.cluster_port import Bench
from tangram.bench.controller.many import decision_times
from tangram.bench.controller.placed import steady_rate
from tangram.bench.controller.refusals import rows
from tangram.bench.controller.streams import CONTROLLER, KUBE_SCHEDULER, Allocator, Refused, Stream
from tangram.bench.placement.kinds import partition, whole

KINDS = (partition("1g"), whole(1))


class RoomForSome:
    """A cluster that binds a pod while fewer than ``room`` claims are held, and else refuses it."""

    def __init__(self, room: int, allocator: Allocator, *, refuses_first: bool = False) -> None:
        self.room, self.allocator, self.refuses_first = room, allocator, refuses_first
        self.held: set[str] = set()
        self.there: set[str] = set()
        self.pods: list[Mapping[str, Any]] = []
        self.asked: list[Mapping[str, Any]] = []
        self._queues: dict[str, queue.SimpleQueue[tuple[str, Any]]] = {
            kind: queue.SimpleQueue() for kind in ("Pod", "ResourceClaim")
        }

    def create(self, kind: str, document: Mapping[str, Any], namespace: str = "") -> None:
        name = document["metadata"]["name"]
        if kind == "ResourceClaim":
            self.asked.append(document)
            return
        self.pods.append(document)
        self.there.add(name)
        self._queues["Pod"].put((name, document))
        fits = len(self.held) < self.room
        if not fits or self.refuses_first:
            condition = {"type": self.allocator.condition, "status": "False", "reason": self.allocator.reason}
            self._queues["Pod"].put((name, {**document, "status": {"conditions": [condition]}}))
        if fits:
            self.held.add(name)
            self._queues["Pod"].put((name, {**document, "spec": {**document["spec"], "nodeName": "n"}}))

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        (self.held if kind == "ResourceClaim" else self.there).discard(name)
        self._queues[kind].put((name, None))

    def changes(
        self, kind: str, stop: Event, fields: str = "", namespace: str = ""
    ) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        def told() -> Iterator[tuple[str, Any]]:
            while not stop.is_set():
                try:
                    yield self._queues[kind].get(timeout=0.001)
                except queue.Empty:
                    continue

        return told()


def played(cluster: RoomForSome, arrivals: list[Arrival], stays_s: float = 0.0) -> Refused:
    bench = Bench(
        cluster=cluster,  # type: ignore[arg-type] - only what a stream needs
        kubectl=lambda *_: "",
        clock=lambda: 0.0,
        sleep=lambda _: None,
        say=lambda _: None,
        namespace="bench",
    )
    return Stream(bench, "bench", cluster.allocator, KINDS, stays_s=stays_s).play(arrivals)


def arrival(at: float, until: float, kind: int = 0) -> Arrival:
    return Arrival(at, until - at, kind)


@pytest.mark.parametrize("allocator", [KUBE_SCHEDULER, CONTROLLER], ids=lambda one: one.name)
def test_a_pod_that_gets_no_devices_is_refused_and_one_that_ends_makes_room_for_the_next(allocator) -> None:
    cluster = RoomForSome(1, allocator)

    refused = played(cluster, [arrival(0, 2), arrival(1, 9, kind=1), arrival(2, 3)])

    assert refused == Refused(pods=1, slices=8)
    assert cluster.held == cluster.there == {"pod-2"}
    assert [one["spec"] for one in cluster.asked][1] == KINDS[1].document["spec"]


def test_a_pod_that_is_bound_soon_after_it_was_refused_is_not_counted() -> None:
    cluster = RoomForSome(1, KUBE_SCHEDULER, refuses_first=True)

    assert played(cluster, [arrival(0, 1)], stays_s=30.0) == Refused(0, 0)


@given(
    room=st.integers(1, 3),
    times=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(0, 1)), max_size=8),
)
def test_what_is_refused_is_what_finds_no_room_when_it_comes(room, times) -> None:
    arrivals, now = [], 0
    for later, stays, kind in times:
        now += later
        arrivals.append(arrival(now, now + stays, kind))

    held: list[Arrival] = []
    lost = []
    for one in arrivals:
        held = [other for other in held if other.at + other.stays > one.at]
        (held if len(held) < room else lost).append(one)

    slices = sum(KINDS[one.ask].slices for one in lost)
    assert played(RoomForSome(room, CONTROLLER), arrivals) == Refused(len(lost), slices)


def test_only_pods_of_the_controller_have_its_gate() -> None:
    gates = {}
    for allocator in (KUBE_SCHEDULER, CONTROLLER):
        cluster = RoomForSome(1, allocator)
        played(cluster, [arrival(0, 1)])
        gates[allocator.name] = [one["name"] for one in cluster.pods[0]["spec"]["schedulingGates"]]

    assert gates == {"kube-scheduler": [], "controller": [GATE]}


def test_the_rows_have_the_change_of_all_mixes_together_and_of_each() -> None:
    theirs = {"small": Refused(10, 20), "large": Refused(30, 200)}
    ours = {"small": Refused(9, 10), "large": Refused(21, 100)}

    head, small, large = rows(theirs, ours, 500)

    assert (head.median, head.must, head.is_met) == (-25, -15, True)
    assert (small.median, small.is_met, large.median) == (-10, None, -30)
    assert head.note == "kube-scheduler 40, controller 30; refused memory slices 220, 110 (-50 %)"


def test_only_decisions_that_gave_devices_are_timed() -> None:
    lines = [{"result": "Placed", "took_s": 0.0005}, {"result": "Refused", "took_s": 0.5}]

    assert decision_times("\n".join(map(json.dumps, lines)), "took_s") == [500_000]


def test_the_steady_rate_leaves_the_ends_out() -> None:
    evenly = [one / 10 for one in range(100)]
    late = [*evenly[:95], *(one + 30.0 for one in evenly[95:])]

    assert steady_rate(evenly) == pytest.approx(10.0)
    assert steady_rate(late) == pytest.approx(10.0)
