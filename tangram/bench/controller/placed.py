"""How many pods a second are bound: they are made over a few connections, and a watch counts.

Takes a cluster; returns a rate.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from scheduler_core.model.ownership import GATE
from tangram.bench.cluster_follow import following
from tangram.bench.cluster_port import Bench, Document
from tangram.bench.controller.nodes import CONNECTIONS, LIMIT_S
from tangram.bench.controller.objects import Ways, ask


def placed(
    bench: Bench, namespace: str, way: Ways, count: int, *, gate: str | None = GATE, kind: str = "Pod"
) -> float:
    """Make pods and return how many per second were bound; with ``kind`` ResourceClaim, how many had claims.

    Raises: BadInput where one is not in time.
    """
    done: set[str] = set()

    def is_last(name: str, now: Document | None) -> bool:
        if name.startswith("load-") and now is not None and (kind != "Pod" or now["spec"].get("nodeName")):
            done.add(name)
        return len(done) == count

    with following(bench, kind, namespace=namespace) as changes:
        start = bench.clock()
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            names = [f"load-{number}" for number in range(count)]
            list(pool.map(lambda name: ask(bench.cluster, namespace, name, way, gate), names))
        at = changes.until(is_last, f"{count} pods are served", LIMIT_S)
    return count / (at - start)
