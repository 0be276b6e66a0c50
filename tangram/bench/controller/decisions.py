"""B15: the controller on many nodes: from the bytes of an API server to its decisions about pods.

Nothing is written: every pod stays in flight, so its devices are held. The policy is the controller's own,
best-fit. Times are those of the processor.
"""

from __future__ import annotations

import itertools
import resource
from collections.abc import Iterator
from time import thread_time_ns
from typing import Final

from controller.decide.allocator import Allocator
from controller.model.claims import read_claim
from controller.model.nodes import read_node
from controller.model.pods import read_pod
from controller.model.slices import read_slice_text
from controller.run.coordinator import Coordinator
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.model.ownership import CONTROLLER, GATE, OWNER
from tangram.bench.cluster import classes
from tangram.bench.cluster_objects import four_partitions
from tangram.bench.controller.objects import tainted
from tangram.bench.machine import DRIVER, GPUS, as_server_sends
from tangram.bench.report import MS, Report, Row, Unit, times
from tangram.bench.settings import Settings

_NODES: Final = 1000
_PODS_PER_NODE: Final = 3
_PER_NODE_NS: Final = 30 * MS
_DECISION_NS: Final = 1 * MS
_MOST_MIB: Final = 500.0
_ROOM: Final = {"cpu": "256", "memory": "2Ti", "pods": "110"}


def controlling(settings: Settings) -> Report:
    """Time how a controller takes in many nodes, and how it decides."""
    count = settings.nodes or _NODES
    pods = min(settings.count or count * _PODS_PER_NODE, count * GPUS)  # each takes a GPU
    ids = map(str, itertools.count())
    seen = ClusterSeen(DRIVER)
    coordinator = Coordinator(seen, Allocator(seen, lambda: next(ids)))
    for one in classes().values():
        coordinator.take(seen.set_class(one))
    fed = list(_fed(coordinator, settings, count))
    for moment in (0.0, coordinator.patience.settle_s):
        coordinator.standing.now = moment
        coordinator.settle()
    settings.say(f"{pods} pods")
    for number in range(pods):
        _ask(coordinator, number)
    decided = list(_decided(coordinator))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = (
        times("a node, bytes to state", fed, _PER_NODE_NS),
        times("a decision about a pod", decided, _DECISION_NS, f"the longest {max(decided) / MS:.3g} ms"),
        Row(case="memory, imports included", unit=Unit.MEBIBYTES, median=most, must=_MOST_MIB),
    )
    lacking = pods - coordinator.in_flight
    wrong = (f"{lacking} of {pods} pods got no devices",) if lacking else ()
    return Report(name="B15", title=f"the controller on {count} nodes", rows=rows, wrong=wrong)


def _fed(coordinator: Coordinator, settings: Settings, count: int) -> Iterator[int]:
    """Yield how long each node takes, from its text to the state."""
    machine = [dict(tainted(one)) for one in settings.dgx.slices()]
    for number in range(count):
        if number % 500 == 0:
            settings.say(f"node {number} of {count}")
        name = f"node-{number:05d}"
        texts = as_server_sends(machine, name, number)
        node = {
            "metadata": {"name": name, "labels": {OWNER: CONTROLLER}},
            "status": {"allocatable": _ROOM},
        }
        began = thread_time_ns()
        coordinator.node_changed(name, read_node(node))
        coordinator.slices_changed([], list(map(read_slice_text, texts)))
        yield thread_time_ns() - began


def _ask(coordinator: Coordinator, number: int) -> None:
    """Let a pod and its claim, KEP-4815's, appear."""
    name = f"pod-{number:06d}"
    metadata = {"namespace": "bench", "name": name, "creationTimestamp": f"2026-01-01T00:00:{number:06d}Z"}
    spec = {
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
        "resourceClaims": [{"name": "partitions", "resourceClaimName": name}],
        "schedulingGates": [{"name": GATE}],
    }
    claim = {**four_partitions(name), "metadata": {**metadata, "uid": f"claim-{number}"}}
    coordinator.claim_changed(None, read_claim(claim))
    coordinator.pod_changed(None, read_pod({"metadata": {**metadata, "uid": name}, "spec": spec}))


def _decided(coordinator: Coordinator) -> Iterator[int]:
    """Yield how long each decision takes until every pod has its devices or none fits."""
    while True:
        began = thread_time_ns()
        if coordinator.decide() is None:
            return
        yield thread_time_ns() - began
