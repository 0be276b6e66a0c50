"""Runs the benchmark in a cluster, in a namespace that is deleted afterwards.

Takes a cluster; returns a report. If a node runs Tangram, that node is measured. If there are nodes without a
kubelet, the scheduler is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tangram.bench.cluster_agent import at_rest, memory, starts
from tangram.bench.cluster_load import LABEL, placing
from tangram.bench.cluster_pods import pods_one_after_another
from tangram.bench.cluster_port import NAMESPACE, Bench, Document
from tangram.bench.report import Report, Row
from tangram.errors import BadInput

NAME: Final = "cluster"
_APP: Final = "app.kubernetes.io/name"


def measure(bench: Bench) -> Report:
    """Measure what the cluster has. Raises: BadInput where it has neither Tangram nor node objects."""
    ours = [
        found for found in bench.cluster.list("Pod", f"metadata.namespace={NAMESPACE}") if _is_ours(found)
    ]
    objects = [node for node in bench.cluster.list("Node") if LABEL in (node["metadata"].get("labels") or {})]
    if not ours and not objects:
        raise BadInput(f"nothing to measure: no pod of Tangram runs in {NAMESPACE}, and no node is {LABEL}")
    rows: list[Row] = []
    with _namespace(bench):
        if ours:
            rows += _on_node(bench, ours[0])
        if objects:
            rows.append(placing(bench, len(objects)))
    return Report(name=NAME, title="Tangram in a cluster", rows=tuple(rows))


def _on_node(bench: Bench, pod: Document) -> Iterator[Row]:
    node = pod["spec"]["nodeName"]
    yield from pods_one_after_another(bench, node)
    yield starts(bench, node)
    yield from at_rest(bench)
    yield from memory(bench, pod)


def _is_ours(pod: Document) -> bool:
    return (pod["metadata"].get("labels") or {}).get(_APP) == "tangram" and (
        pod.get("status", {}).get("phase") == "Running"
    )


@contextmanager
def _namespace(bench: Bench) -> Iterator[None]:
    bench.cluster.create("Namespace", {"metadata": {"name": bench.namespace}})
    try:
        yield
    finally:
        bench.cluster.delete("Namespace", bench.namespace)
