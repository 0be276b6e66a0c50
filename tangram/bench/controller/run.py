"""Runs the benchmark on nodes without a kubelet: first kube-scheduler allocates there, then the controller.

Takes a cluster with such nodes; returns a report. A pod counts as placed when it is bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

from tangram.bench.cluster_port import Bench
from tangram.bench.controller.nodes import hand_over, namespace_of, nodes_of
from tangram.bench.controller.objects import Ways, template
from tangram.bench.controller.placed import placed, served_at, steady_rate
from tangram.bench.controller.process import controller
from tangram.bench.report import Report, Row, Unit

NAME: Final = "controller"
_AT_LEAST: Final = 45.0
_TIMES: Final = 10.0
_OF_CLAIM_CONTROLLER: Final = 0.98  # of its rate: two runs of it differ by as much
_HELD: Final = "example.com/held"  # a gate that nobody removes
_GPUS: Final = 8
_FULL: Final = 0.9
_ROUNDS: Final = 3
_AS_FAST: Final = 0.9  # rounds that are alike differ by as much
_MOST_MIB: Final = 500.0


def measure(bench: Bench, kubeconfig: str | None) -> Report:
    """Measure the cluster. Raises: BadInput where it has no nodes without a kubelet."""
    nodes = nodes_of(bench)
    room = len(nodes) * _GPUS
    rows = []
    with namespace_of(bench, "scheduler") as namespace:
        bench.say(f"{bench.loaded} pods on {len(nodes)} nodes: kube-scheduler")
        theirs = placed(bench, namespace, Ways.USER, bench.loaded, gate=None)
        rows.append(_row("kube-scheduler allocates", theirs, bench.loaded))
    hand_over(bench, nodes)
    with controller(kubeconfig, bench.clock, bench.sleep) as running:
        with namespace_of(bench, "made") as namespace:
            bench.cluster.create("ResourceClaimTemplate", template(), namespace)
            bench.say(f"{bench.loaded} pods whose claims the controller makes")
            ours = placed(bench, namespace, Ways.CONTROLLER, bench.loaded)
            must = max(_AT_LEAST, _TIMES * theirs)
            rows.append(
                _row("controller, makes the claims", ours, bench.loaded, must, f"{ours / theirs:.1f} times")
            )
        with namespace_of(bench, "named") as namespace:
            bench.say(f"{bench.loaded} pods that name their claims")
            named = placed(bench, namespace, Ways.USER, bench.loaded)
            rows.append(_row("controller, pods name their claims", named, bench.loaded))
        rows += _of_templates(bench)
        rows += _empty_and_full(bench, room)
        ready = f"ready {running.ready_s:.1f} s after its start"
        rows.append(
            Row(case="its memory", unit=Unit.MEBIBYTES, median=running.most_mib(), must=_MOST_MIB, note=ready)
        )
    return Report(name=NAME, title=f"pods bound on {len(nodes)} nodes of {_GPUS} GPUs", rows=tuple(rows))


def _of_templates(bench: Bench) -> Iterator[Row]:
    """Measure how fast the claim controller makes claims, and how fast pods with such claims are bound.

    Both rates leave the ends out: kube-scheduler lets a pod wait for seconds that it tried in vain.
    """
    case, found = "controller, claims of templates, no gate", []
    for suffix, gate, kind in (("held", _HELD, "ResourceClaim"), ("templates", None, "Pod")):
        with namespace_of(bench, suffix) as namespace:
            bench.cluster.create("ResourceClaimTemplate", template(), namespace)
            bench.say(f"{bench.loaded} pods whose claims the claim controller makes: {suffix}")
            way = Ways.CLAIM_CONTROLLER
            found.append(served_at(bench, namespace, way, bench.loaded, gate=gate, kind=kind))
    theirs, ours = map(steady_rate, found)
    note = f"the last one {found[1][-1] - found[0][-1]:.1f} s after the last claim was made without us"
    yield _row("the claim controller makes claims", theirs, bench.loaded)
    yield _row(case, ours, bench.loaded, _OF_CLAIM_CONTROLLER * theirs, note)


def _empty_and_full(bench: Bench, room: int) -> Iterator[Row]:
    """Place what the last tenth of the GPUs holds: while none is in use, and while nine tenths are."""
    fill = int(room * _FULL)
    last = room - fill
    empty = _rounds(bench, "empty", last)
    yield _row("controller, no GPU in use", empty, last, None, f"median of {_ROUNDS} rounds")
    with namespace_of(bench, "fill") as namespace:
        bench.cluster.create("ResourceClaimTemplate", template(), namespace)
        bench.say(f"{fill} pods until nine tenths of the GPUs are in use")
        placed(bench, namespace, Ways.CONTROLLER, fill)
        full = _rounds(bench, "full", last)
    note = f"{full / empty:.2f} times as many as with none in use"
    yield _row("controller, nine tenths of the GPUs in use", full, last, _AS_FAST * empty, note)


def _rounds(bench: Bench, name: str, count: int) -> float:
    """Return the median of the rates of some rounds, each of which leaves the cluster as it was."""
    rates = []
    for number in range(_ROUNDS):
        with namespace_of(bench, f"{name}-{number}") as namespace:
            bench.cluster.create("ResourceClaimTemplate", template(), namespace)
            bench.say(f"{count} pods, {name}, round {number + 1} of {_ROUNDS}")
            rates.append(placed(bench, namespace, Ways.CONTROLLER, count))
    return median(rates)


def _row(case: str, rate: float, samples: int, must: float | None = None, note: str = "") -> Row:
    return Row(case=case, unit=Unit.PODS_PER_SECOND, median=rate, samples=samples, must=must, note=note)
