"""How many pods per second kube-scheduler places on nodes without a kubelet, each with four partitions.

Takes a cluster with such nodes; returns a row. No pod runs: a pod counts as placed when it is bound.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tangram.bench.cluster_follow import following
from tangram.bench.cluster_objects import four_partitions, pod
from tangram.bench.cluster_port import Bench, Document
from tangram.bench.report import Row, Unit

LABEL: Final = "tangram.dev/node-object"
_CONNECTIONS: Final = 4
_LIMIT_S: Final = 600.0


def placing(bench: Bench, nodes: int) -> Row:
    """Place ``bench.loaded`` pods on nodes that carry our label. Raises: BadInput."""
    bench.say(f"{bench.loaded} pods on {nodes} node objects")
    bound: set[str] = set()

    def is_last(name: str, now: Document | None) -> bool:
        if now is not None and now["spec"].get("nodeName"):
            bound.add(name)
        return len(bound) == bench.loaded

    with following(bench, "Pod", namespace=bench.namespace) as pods:
        start = bench.clock()
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            list(pool.map(lambda number: _ask(bench, f"load-{number}"), range(bench.loaded)))
        at = pods.until(is_last, f"{bench.loaded} pods are bound", _LIMIT_S)
    return Row(
        case=f"kube-scheduler, {nodes} nodes",
        unit=Unit.PODS_PER_SECOND,
        median=bench.loaded / (at - start),
        samples=bench.loaded,
        note="1g + 1g + 2g + 3g on one GPU each, making them included",
    )


def _ask(bench: Bench, name: str) -> None:
    claims = [{"name": "partitions", "resourceClaimName": name}]
    bench.cluster.create("ResourceClaim", four_partitions(name), bench.namespace)
    bench.cluster.create("Pod", pod(name, {"nodeSelector": {LABEL: "true"}}, claims), bench.namespace)
