"""Nodes without a kubelet in a benchmark's cluster, and a namespace on them.

Takes a cluster; changes its nodes and slices. A pod counts as placed there when it is bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Final

from scheduler_core.model.ownership import CONTROLLER, OWNER
from tangram.bench.cluster_follow import following
from tangram.bench.cluster_port import Bench, Document
from tangram.bench.controller.objects import LABEL, labelled, tainted
from tangram.errors import BadInput

CONNECTIONS: Final = 4
LIMIT_S: Final = 600.0
_SAY_EVERY: Final = 100


def nodes_of(bench: Bench) -> list[str]:
    """Return the names of the nodes without a kubelet. Raises: BadInput where there are none."""
    found = [name for name, labels in _labels(bench) if LABEL in labels]
    if not found:
        raise BadInput(f"nothing to measure: no node is {LABEL}; see make bench-controller")
    return found


def not_ours(bench: Bench, nodes: Collection[str]) -> list[str]:
    """Return those of the nodes whose devices are not the controller's yet."""
    return [name for name, labels in _labels(bench) if name in nodes and labels.get(OWNER) != CONTROLLER]


def _labels(bench: Bench) -> Iterator[tuple[str, Mapping[str, str]]]:
    for one in bench.cluster.list("Node"):
        yield one["metadata"]["name"], one["metadata"].get("labels") or {}


def hand_over(bench: Bench, nodes: list[str]) -> None:
    """Give the nodes' devices to the controller, as agents do. Raises: BadInput."""
    bench.say(f"the devices of {len(nodes)} nodes go to the controller")
    done = count(1)

    def give(node: str) -> None:
        for one in bench.cluster.list("ResourceSlice", f"spec.nodeName={node}"):
            _taint(bench, one)
        bench.cluster.patch("Node", node, labelled())
        number = next(done)
        if number % _SAY_EVERY == 0:
            bench.say(f"{number} of {len(nodes)} nodes")

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(give, nodes))


def _taint(bench: Bench, one: Document) -> None:
    bench.cluster.delete("ResourceSlice", one["metadata"]["name"])
    bench.cluster.create("ResourceSlice", tainted(one))


@contextmanager
def namespace_of(bench: Bench, suffix: str) -> Iterator[str]:
    """Yield a namespace, and wait at the end until nothing of it holds devices. Raises: BadInput."""
    name = f"{bench.namespace}-{suffix}"
    bench.cluster.create("Namespace", {"metadata": {"name": name}})
    try:
        yield name
    finally:
        bench.cluster.delete("Namespace", name)
        with following(bench, "Namespace", f"metadata.name={name}") as changes:
            changes.until(lambda _, now: now is None, f"namespace {name} is gone", LIMIT_S)
