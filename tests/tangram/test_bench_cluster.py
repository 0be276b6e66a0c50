"""``tangram bench cluster``: figures from metrics pages, its objects, and a run in a made-up cluster."""

from __future__ import annotations

import itertools
import queue
import re
from collections.abc import Iterator, Mapping
from threading import Event, Lock
from typing import Any

import pytest

from scheduler_core.model.ownership import CONTROLLER, GATE, OWNER
from tangram.bench.cluster_metrics import Calls, counted
from tangram.bench.cluster_objects import agent_pod
from tangram.bench.cluster_port import Bench
from tangram.bench.cluster_run import measure
from tangram.bench.report import Report
from tangram.errors import BadInput

PAGE = """
# HELP seconds_of_calls How long calls took
seconds_of_calls_bucket{method="Svc/Prepare",le="0.005"} 1
seconds_of_calls_bucket{method="Svc/Prepare",le="0.01"} 9
seconds_of_calls_bucket{method="Svc/Prepare",le="+Inf"} 10
seconds_of_calls_sum{method="Svc/Prepare"} 0.08
seconds_of_calls_count{method="Svc/Prepare"} 10
seconds_of_calls_count{method="Svc/Unprepare"} 3
requests_total{resource="slices",verb="GET",code="200"} 4
requests_total{resource="slices",verb="LIST",code="200"} 2
requests_total{resource="slices",verb="WATCH",code="200"} 70
requests_total{resource="otherslices",verb="GET",code="200"} 100
"""


def test_a_counter_is_summed_over_the_series_whose_labels_match_whole():
    assert counted(PAGE, "requests_total", resource="slices", verb="GET|LIST") == 6


def test_only_what_came_after_an_earlier_reading_counts():
    later = PAGE.replace('"Svc/Prepare"} 0.08', '"Svc/Prepare"} 0.14').replace('Prepare"} 10', 'Prepare"} 20')
    before, after = (Calls.read(page, "seconds_of_calls", method=".*/Prepare") for page in (PAGE, later))

    found = after.since(before)

    assert (before.count, before.total_s) == (10, 0.08)
    assert (found.count, found.total_s) == (10, pytest.approx(0.06))


DAEMON_SET = {
    "spec": {
        "template": {
            "spec": {
                "serviceAccountName": "tangram",
                "containers": [
                    {
                        "name": "agent",
                        "args": ["--node-name=n", "--metrics-address=127.0.0.1:1"],
                        "startupProbe": {},
                        "volumeMounts": [{"name": "machine"}],
                    },
                    {"name": "plugin", "args": []},
                ],
                "volumes": [{"name": "machine"}, {"name": "records"}],
            }
        }
    }
}


def test_the_agent_that_is_measured_is_the_installed_one_for_another_driver():
    spec = agent_pod(DAEMON_SET, "a", "n", "bench")["spec"]
    assert spec["serviceAccountName"] == "bench"

    (container,) = spec["containers"]
    assert container["args"] == ["--node-name=n", "--driver-name=bench.tangram.dev"]
    assert "startupProbe" not in container
    assert [volume["name"] for volume in spec["volumes"]] == ["machine"]
    assert spec["nodeName"] == "n"
    assert len(DAEMON_SET["spec"]["template"]["spec"]["containers"]) == 2


class MadeUpCluster:
    """A cluster in which every pod runs at once, and every tick of the clock is a millisecond."""

    def __init__(self, *, has_tangram: bool = True, node_objects: int = 0) -> None:
        self.objects: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._queues: list[tuple[str, queue.Queue[tuple[str, Any]]]] = []
        self._lock = Lock()
        self._reads = itertools.count()
        self.gates: dict[str, Any] = {}
        if has_tangram:
            labels = {"app.kubernetes.io/name": "tangram"}
            self.objects["DaemonSet", "tangram"] = DAEMON_SET
            self.objects["Pod", "tangram-x"] = {
                "metadata": {"name": "tangram-x", "namespace": "tangram-system", "labels": labels},
                "spec": {"nodeName": "n"},
                "status": {"phase": "Running"},
            }
        for number in range(node_objects):
            labels = {"tangram.dev/node-object": "true"}
            self.objects["Node", f"o{number}"] = {"metadata": {"name": f"o{number}", "labels": labels}}

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        wanted = dict(one.split("=") for one in fields.split(",") if one)
        name = wanted.get("metadata.name")
        return tuple(
            found for (one, key), found in self.objects.items() if one == kind and name in {None, key}
        )

    def create(self, kind: str, document: Mapping[str, Any], namespace: str = "") -> None:
        name = document["metadata"]["name"]
        if kind == "Pod":
            self.gates[name] = document["spec"].get("schedulingGates")
            spec = {"nodeName": "n", **document["spec"]}
            document = {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Running"}}
            if namespace == "tangram-system":
                pool = {"generation": 1, "resourceSliceCount": 1}
                slice_ = {"metadata": {"name": "s"}, "spec": {"pool": pool, "driver": "bench.tangram.dev"}}
                self._tell("ResourceSlice", "s", slice_)
        self._tell(kind, name, document)

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        self._tell(kind, name, None)

    def text(self, path: str) -> str:
        read = next(self._reads)  # every look finds one call more, each of 30 ms but the second
        labels = 'driver_name="tangram.dev",method_name="x.DRAPlugin/NodePrepareResources"'
        total_s = 0.03 * read - (0.02 if read > 1 else 0)
        lines = [f"dra_grpc_operations_duration_seconds_sum{{{labels}}} {total_s}"]
        lines += [f"dra_grpc_operations_duration_seconds_count{{{labels}}} {read}"]
        theirs = labels.replace("tangram.dev", "other.dev")
        lines += [f"dra_grpc_operations_duration_seconds_sum{{{theirs}}} {0.06 * read}"]
        lines += [f"dra_grpc_operations_duration_seconds_count{{{theirs}}} {read}"]
        return "\n".join(lines)

    def changes(
        self, kind: str, stop: Event, fields: str = "", namespace: str = ""
    ) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        mine: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._queues.append((kind, mine))

        def told() -> Iterator[tuple[str, Any]]:
            while not stop.is_set():
                try:
                    yield mine.get(timeout=0.01)
                except queue.Empty:
                    continue

        return told()

    def _tell(self, kind: str, name: str, document: Mapping[str, Any] | None) -> None:
        with self._lock:
            if document is None:
                self.objects.pop((kind, name), None)
            else:
                self.objects[kind, name] = document
            for wanted, one in self._queues:
                if wanted == kind:
                    one.put((name, document))


def run(cluster: MadeUpCluster, beside: str | None = None) -> Report:
    ticks = itertools.count()
    bench = Bench(
        cluster=cluster,
        kubectl=lambda *_: "VmPeak:\t 99 kB\nVmRSS:\t   71680 kB\n",
        clock=lambda: next(ticks) / 1000,
        sleep=lambda _: None,
        say=lambda _: None,
        namespace="bench",
        beside=beside,
        count=2,
        starts=2,
        loaded=6,
    )
    return measure(bench)


def test_where_tangram_runs_its_node_is_measured_and_all_that_was_made_is_deleted():
    cluster = MadeUpCluster()

    report = run(cluster)

    rows = {row.case: row for row in report.rows}
    assert rows["NodePrepareResources, mean"].median == pytest.approx(20_000_000)
    assert rows["NodePrepareResources, p99"].median == pytest.approx(30_000_000)
    assert not rows["NodePrepareResources, p99"].is_met
    assert rows["memory of the agent"].median == 70
    assert rows["at rest: writes"].median == 0
    assert rows["later because of the claim"].must == 200_000_000
    assert rows["agent's pod created to slices visible"].samples == 2
    assert not any(re.match("kube-scheduler", case) for case in rows)
    assert not any(kind in {"Namespace", "ResourceSlice"} for kind, _ in cluster.objects)


def test_another_driver_is_measured_in_the_same_turns_and_ours_in_percent_of_it():
    rows = {row.case: row for row in run(MadeUpCluster(), beside="other.dev").rows}

    theirs = rows["NodePrepareResources of other.dev, mean"]
    assert (theirs.median, theirs.must) == (pytest.approx(60_000_000), None)
    ours = rows["NodePrepareResources, mean"].median
    assert rows["NodePrepareResources, of other.dev's"].median == pytest.approx(100 * ours / theirs.median)
    assert rows["pod with a claim of other.dev, created to running"].samples == 2


def test_where_nodes_are_objects_only_the_scheduler_is_measured():
    report = run(MadeUpCluster(has_tangram=False, node_objects=3))

    (row,) = report.rows
    assert row.case == "kube-scheduler, 3 nodes"
    assert row.samples == 6
    assert row.median > 0


def test_a_cluster_without_either_is_refused_before_anything_is_made():
    cluster = MadeUpCluster(has_tangram=False)

    with pytest.raises(BadInput, match="nothing to measure"):
        run(cluster)

    assert cluster.objects == {}


@pytest.mark.parametrize(
    "arguments", [("--check",), ("--beside", "d"), ("B1", "--context", "c"), ("cluster", "B1")]
)
def test_what_is_for_a_cluster_only_goes_with_nothing_else(tangram, arguments):
    said = tangram("bench", *arguments)

    assert said.status == 2
    assert "cluster" in said.err


def test_where_the_node_is_the_controllers_pods_with_our_gate_are_measured_without_the_prepare():
    cluster = MadeUpCluster()
    cluster.objects["Node", "n"] = {"metadata": {"name": "n", "labels": {OWNER: CONTROLLER}}}

    rows = {row.case: row for row in run(cluster).rows}

    assert rows["pod with a MIG claim and our gate, created to running"].samples == 2
    later = rows["later because of claim and gate, prepare left out"]
    assert (later.median, later.must) == (0, 150_000_000)
    assert cluster.gates["gated-0"] == [{"name": GATE}]
    assert "gated-0" not in {name for _, name in cluster.objects}
