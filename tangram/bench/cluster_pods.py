"""Pods one after the other, with a claim and without: how long until they run, and what the kubelet measured.

A cluster with Tangram enters, rows leave. Each pod is gone before the next is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from statistics import mean, median
from typing import Final

from tangram.bench.cluster_follow import Follower, following
from tangram.bench.cluster_metrics import Calls
from tangram.bench.cluster_objects import TEMPLATE, on_node, partition_template, pod
from tangram.bench.cluster_port import DRIVER, Bench, Document
from tangram.bench.report import MS, Row, Unit, percentile, times

_HISTOGRAM: Final = "dra_grpc_operations_duration_seconds"
_NS: Final = 1_000_000_000
_MUST_MS: Final[Mapping[str, tuple[int, int | None]]] = {
    "NodePrepareResources": (6, 25),
    "NodeUnprepareResources": (5, None),
}
_MUST_LATER_MS: Final = 200


def pods_one_after_another(bench: Bench, node: str) -> Iterator[Row]:
    """Measure ``bench.count`` pods of each kind on a node, in turns. Raises: BadInput."""
    bench.cluster.create("ResourceClaimTemplate", partition_template(), bench.namespace)
    claims = [{"name": "gpu", "resourceClaimTemplateName": TEMPLATE}]
    plain, claiming = list[int](), list[int]()
    kubelet = Kubelet(bench, node)
    with following(bench, "Pod", namespace=bench.namespace) as pods:
        for number in range(bench.count):
            bench.say(f"pods {number + 1} of {bench.count}")
            plain.append(_one(bench, pods, pod(f"plain-{number}", on_node(node))))
            claiming.append(_one(bench, pods, pod(f"claims-{number}", on_node(node), claims)))
            kubelet.look()
    yield from kubelet.rows()
    yield times("pod without a claim, created to running", plain)
    yield times("pod with a MIG claim, created to running", claiming)
    yield Row(
        case="later because of the claim",
        unit=Unit.NANOSECONDS,
        median=max(0.0, median(claiming) - median(plain)),
        samples=bench.count,
        must=_MUST_LATER_MS * MS,
        note="difference of the medians",
    )


def _one(bench: Bench, pods: Follower, document: Document) -> int:
    """Make a pod, wait until it runs and then until it is gone; return the first wait in nanoseconds."""
    name = document["metadata"]["name"]
    start = bench.clock()
    bench.cluster.create("Pod", document, bench.namespace)

    def runs(found: str, now: Document | None) -> bool:
        return found == name and now is not None and now.get("status", {}).get("phase") == "Running"

    at = pods.until(runs, f"pod {bench.namespace}/{name} runs")
    bench.cluster.delete("Pod", name, bench.namespace)
    pods.until(lambda found, now: found == name and now is None, f"pod {bench.namespace}/{name} is gone")
    return round((at - start) * _NS)


class Kubelet:
    """What a kubelet measured of its calls to us, pod by pod.

    The first bucket of its histogram ends at 100 ms, so it is read after every pod: where one call was made
    since, the sum has grown by just its time.
    """

    def __init__(self, bench: Bench, node: str) -> None:
        self._bench, self._node = bench, node
        self._took: dict[str, list[int]] = {method: [] for method in _MUST_MS}
        self._before = self._read()

    def look(self) -> None:
        """Take note of the calls since the last look; several count with their mean each."""
        now = self._read()
        for method, calls in now.items():
            new = calls.since(self._before[method])
            self._took[method] += [round(new.total_s / new.count * _NS)] * int(new.count) if new.count else []
        self._before = now

    def rows(self) -> Iterator[Row]:
        """Yield mean and 99th percentile of each method that was called."""
        for method, took in self._took.items():
            if took:
                mean_ms, p99_ms = _MUST_MS[method]
                yield _row(f"{method}, mean", mean(took), len(took), mean_ms)
                yield _row(f"{method}, p99", percentile(took, 99), len(took), p99_ms)

    def _read(self) -> dict[str, Calls]:
        page = self._bench.cluster.text(f"/api/v1/nodes/{self._node}/proxy/metrics")
        driver = re.escape(DRIVER)
        return {
            method: Calls.read(page, _HISTOGRAM, driver_name=driver, method_name=f"(.*/)?{method}")
            for method in _MUST_MS
        }


def _row(case: str, nanoseconds: float, samples: int, must_ms: int | None) -> Row:
    return Row(
        case=case,
        unit=Unit.NANOSECONDS,
        median=nanoseconds,
        samples=samples,
        must=None if must_ms is None else must_ms * MS,
        note="as the kubelet measures it",
    )
