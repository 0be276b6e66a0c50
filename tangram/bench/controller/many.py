"""The controller on as many nodes as a cluster has: its start, its memory and its decisions.

Takes a cluster with nodes without a kubelet; returns a report. All devices become the controller's.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Final

from tangram.bench.cluster_port import Bench
from tangram.bench.controller.nodes import hand_over, namespace_of, nodes_of, not_ours
from tangram.bench.controller.objects import Ways, template
from tangram.bench.controller.placed import placed
from tangram.bench.controller.process import controller
from tangram.bench.report import MS, Report, Row, Unit, percentile, times

NAME: Final = "many-nodes"
_NS: Final = 1_000_000_000
_READY_NS: Final = 30 * _NS
_MOST_MIB: Final = 500.0
_DECISION_NS: Final = 1 * MS


def measure(bench: Bench, kubeconfig: str | None) -> Report:
    """Measure the cluster. Raises: BadInput where it has no nodes without a kubelet."""
    nodes = nodes_of(bench)
    if others := not_ours(bench, nodes):
        hand_over(bench, others)
    with tempfile.TemporaryDirectory() as folder:
        decisions = Path(folder, "decisions")
        bench.say("the controller starts")
        with (
            controller(kubeconfig, bench.clock, bench.sleep, decisions) as running,
            namespace_of(bench, "many") as namespace,
        ):
            bench.cluster.create("ResourceClaimTemplate", template(), namespace)
            bench.say(f"{bench.loaded} pods whose claims the controller makes")
            rate = placed(bench, namespace, Ways.CONTROLLER, bench.loaded)
            most = running.most_mib()
        log = decisions.read_text(encoding="utf-8")
    took, ran = decision_times(log, "took_s"), decision_times(log, "running_s")
    rows = (
        Row(
            case="ready after its start", unit=Unit.NANOSECONDS, median=running.ready_s * _NS, must=_READY_NS
        ),
        Row(case="its memory", unit=Unit.MEBIBYTES, median=most, must=_MOST_MIB),
        times(
            "a decision that gives devices", took, note=f"by the clock; the longest {max(took) / MS:.3g} ms"
        ),
        Row(case="of these, p99", unit=Unit.NANOSECONDS, median=percentile(took, 99)),
        times("processor time of these", ran, note=f"the longest {max(ran) / MS:.3g} ms"),
        Row(case="of these, p99 of it", unit=Unit.NANOSECONDS, median=percentile(ran, 99), must=_DECISION_NS),
        Row(case="pods bound", unit=Unit.PODS_PER_SECOND, median=rate, samples=bench.loaded),
    )
    return Report(name=NAME, title=f"the controller on {len(nodes)} nodes", rows=rows)


def decision_times(log: str, field: str) -> list[int]:
    """Return a time of each decision that gave devices, from the controller's log of decisions."""
    lines = map(json.loads, log.splitlines())
    return [round(one[field] * _NS) for one in lines if one["result"] == "Placed"]
