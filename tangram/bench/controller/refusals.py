"""How many pods kube-scheduler refuses, and how many the controller, on the same streams of pods.

Takes a cluster with nodes without a kubelet; returns a report. The streams have B9's mixes of partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.bench.cluster_port import Bench
from tangram.bench.controller.nodes import hand_over, namespace_of, nodes_of
from tangram.bench.controller.process import controller
from tangram.bench.controller.streams import CONTROLLER, KUBE_SCHEDULER, Allocator, Refused, Stream
from tangram.bench.machine import GPUS
from tangram.bench.placement.mixes import B9_MIXES, Mix
from tangram.bench.placement.traces import trace
from tangram.bench.report import Report, Row, Unit

NAME: Final = "refusals"
PODS: Final = 500
LOAD: Final = 1.1
"""The highest of B9: at lower ones few of 500 pods are refused, whoever allocates."""
_SEED: Final = 1
_MUST: Final = -15.0  # percent of refused pods


def measure(
    bench: Bench, kubeconfig: str | None, pods: int = PODS, mixes: Mapping[str, Mix] = B9_MIXES
) -> Report:
    """Measure the cluster. Raises: BadInput where it has no nodes without a kubelet."""
    nodes = nodes_of(bench)
    theirs = _refused(bench, KUBE_SCHEDULER, mixes, len(nodes), pods)
    hand_over(bench, nodes)
    with controller(kubeconfig, bench.clock, bench.sleep):
        ours = _refused(bench, CONTROLLER, mixes, len(nodes), pods)
    title = f"refused by the controller against kube-scheduler, {len(nodes)} nodes, {pods} pods of each mix"
    return Report(name=NAME, title=title, rows=rows(theirs, ours, pods))


def rows(theirs: Mapping[str, Refused], ours: Mapping[str, Refused], pods: int) -> tuple[Row, ...]:
    """Return how many percent more were refused, of all mixes and of each. Shape: by the mixes' names."""
    sums = [
        Refused(sum(one.pods for one in side.values()), sum(one.slices for one in side.values()))
        for side in (theirs, ours)
    ]
    head = _row("refused pods, all mixes", sums[0], sums[1], pods * len(theirs), _MUST)
    return (head, *(_row(f"refused pods, {name}", theirs[name], ours[name], pods) for name in theirs))


def _row(case: str, theirs: Refused, ours: Refused, pods: int, must: float | None = None) -> Row:
    slices = (
        f"refused memory slices {theirs.slices}, {ours.slices} ({_change(theirs.slices, ours.slices):+.0f} %)"
    )
    return Row(
        case=case,
        unit=Unit.PERCENT,
        median=_change(theirs.pods, ours.pods),
        samples=pods,
        must=must,
        note=f"kube-scheduler {theirs.pods}, controller {ours.pods}; {slices}",
    )


def _change(theirs: int, ours: int) -> float:
    return 100 * (ours - theirs) / max(theirs, 1)


def _refused(
    bench: Bench, allocator: Allocator, mixes: Mapping[str, Mix], nodes: int, pods: int
) -> dict[str, Refused]:
    found = {}
    for number, (name, mix) in enumerate(mixes.items()):
        bench.say(f"{pods} pods of mix {name}, one after the other: {allocator.name}")
        arrivals = trace(mix, LOAD, nodes * GPUS, pods, _SEED)
        with namespace_of(bench, f"{allocator.name}-{number}") as namespace:
            found[name] = Stream(bench, namespace, allocator, mix.kinds).play(arrivals)
    return found
