"""Pods one after the other, with a claim and without: how long until they run, and what the kubelet measured.

A cluster with Tangram enters, rows leave. Each pod is gone before the next is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

from tangram.bench.cluster_follow import Follower, following
from tangram.bench.cluster_metrics import Histogram
from tangram.bench.cluster_objects import TEMPLATE, on_node, partition_template, pod
from tangram.bench.cluster_port import DRIVER, Bench, Document
from tangram.bench.report import MS, Row, Unit, times

_HISTOGRAM: Final = "dra_grpc_operations_duration_seconds"
_NS: Final = 1_000_000_000
_PLAIN: Final = "without a claim"
_CLAIMING: Final = "with a MIG claim"
_MUST_LATER_MS: Final = 200


def pods_one_after_another(bench: Bench, node: str) -> Sequence[Row]:
    """Measure ``bench.count`` pods of each kind on a node, in turns. Raises: BadInput."""
    bench.cluster.create("ResourceClaimTemplate", partition_template(), bench.namespace)
    claims = [{"name": "gpu", "resourceClaimTemplateName": TEMPLATE}]
    before = _kubelet(bench, node)
    waited: dict[str, list[int]] = {_PLAIN: [], _CLAIMING: []}
    with following(bench, "Pod", namespace=bench.namespace) as pods:
        for number in range(bench.count):
            bench.say(f"pods {number + 1} of {bench.count}")
            here = on_node(node)
            waited[_PLAIN].append(_one(bench, pods, pod(f"plain-{number}", here)))
            waited[_CLAIMING].append(_one(bench, pods, pod(f"claims-{number}", here, claims)))
    after = _kubelet(bench, node)
    return (
        *_calls("NodePrepareResources", before, after, mean_ms=6, p99_ms=25),
        *_calls("NodeUnprepareResources", before, after, mean_ms=5),
        *(times(f"pod {kind}, created to running", waited[kind]) for kind in waited),
        Row(
            case="later because of the claim",
            unit=Unit.NANOSECONDS,
            median=max(0.0, median(waited[_CLAIMING]) - median(waited[_PLAIN])),
            samples=bench.count,
            must=_MUST_LATER_MS * MS,
            note="difference of the medians",
        ),
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


def _kubelet(bench: Bench, node: str) -> str:
    return bench.cluster.text(f"/api/v1/nodes/{node}/proxy/metrics")


def _calls(method: str, before: str, after: str, *, mean_ms: int, p99_ms: int | None = None) -> Sequence[Row]:
    """Return what the kubelet measured of the calls of a method; nothing where there were none."""
    labels = {"driver_name": DRIVER.replace(".", r"\."), "method_name": f"(.*/)?{method}"}
    told = Histogram.read(after, _HISTOGRAM, labels).since(Histogram.read(before, _HISTOGRAM, labels))
    if not told.count:
        return ()
    count, note = int(told.count), "as the kubelet measures it"
    unit = Unit.NANOSECONDS
    return (
        Row(
            case=f"{method}, mean",
            unit=unit,
            median=told.mean_s * _NS,
            samples=count,
            must=mean_ms * MS,
            note=note,
        ),
        Row(
            case=f"{method}, p99",
            unit=unit,
            median=told.quantile_s(0.99) * _NS,
            samples=count,
            must=None if p99_ms is None else p99_ms * MS,
            note="placed within its bucket",
        ),
    )
