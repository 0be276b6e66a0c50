"""How many pods a second are bound: they are made over a few connections, and a watch counts.

Takes a cluster; returns a rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from scheduler_core.model.ownership import GATE
from tangram.bench.cluster_follow import following
from tangram.bench.cluster_port import Bench, Document
from tangram.bench.controller.nodes import CONNECTIONS, LIMIT_S
from tangram.bench.controller.objects import Ways, ask


def placed(bench: Bench, namespace: str, way: Ways, count: int, gate: str | None = GATE) -> float:
    """Make pods and return how many per second were bound, from the first one made to the last one bound.

    Raises: BadInput where one is not in time.
    """
    return count / served_at(bench, namespace, way, count, gate=gate)[-1]


def steady_rate(times: Sequence[float]) -> float:
    """Return the rate between a tenth and nine tenths of the times: what one waits at the end is left out."""
    first, last = len(times) // 10, len(times) - 1 - len(times) // 10
    return (last - first) / (times[last] - times[first])


def served_at(
    bench: Bench, namespace: str, way: Ways, count: int, *, gate: str | None = GATE, kind: str = "Pod"
) -> list[float]:
    """Make pods and return when each was bound; with ``kind`` ResourceClaim, when each had its claim.

    Units:  seconds since the first one was made, in rising order.
    Raises: BadInput where one is not in time.
    """
    done: set[str] = set()

    def is_new(name: str, now: Document | None) -> bool:
        is_served = now is not None and (kind != "Pod" or bool(now["spec"].get("nodeName")))
        if not (name.startswith("load-") and is_served) or name in done:
            return False
        done.add(name)
        return True

    with following(bench, kind, namespace=namespace) as changes:
        start = bench.clock()
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            names = [f"load-{number}" for number in range(count)]
            list(pool.map(lambda name: ask(bench.cluster, namespace, name, way, gate), names))
        what = f"{count} pods are served"
        return [changes.until(is_new, what, LIMIT_S) - start for _ in range(count)]
