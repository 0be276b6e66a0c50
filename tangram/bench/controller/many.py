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
        took = decision_times(decisions.read_text(encoding="utf-8"))
    rows = (
        Row(
            case="ready after its start", unit=Unit.NANOSECONDS, median=running.ready_s * _NS, must=_READY_NS
        ),
        Row(case="its memory", unit=Unit.MEBIBYTES, median=most, must=_MOST_MIB),
        times("a decision that gives devices", took, note=f"the longest {max(took) / MS:.3g} ms"),
        Row(case="of these, p99", unit=Unit.NANOSECONDS, median=percentile(took, 99), must=_DECISION_NS),
        Row(case="pods bound", unit=Unit.PODS_PER_SECOND, median=rate, samples=bench.loaded),
    )
    return Report(name=NAME, title=f"the controller on {len(nodes)} nodes", rows=rows)


def decision_times(log: str) -> list[int]:
    """Return how long each decision that gave devices took, from the controller's log of decisions."""
    lines = map(json.loads, log.splitlines())
    return [round(one["took_s"] * _NS) for one in lines if one["result"] == "Placed"]
