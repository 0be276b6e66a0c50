"""Pods one after the other, with a claim and without: time until they run, and the kubelet's own figures.

Takes a cluster with Tangram; returns rows. Each pod is deleted before the next one is created.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from statistics import mean, median
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.ownership import CONTROLLER, GATE, OWNER
from tangram.bench.cluster_follow import Follower, following
from tangram.bench.cluster_metrics import Calls
from tangram.bench.cluster_objects import PARTITIONS, on_node, pod, template
from tangram.bench.cluster_port import DRIVER, Bench, Document
from tangram.bench.report import MS, Row, Unit, percentile, times

_HISTOGRAM: Final = "dra_grpc_operations_duration_seconds"
_NS: Final = 1_000_000_000
_MUST_MS: Final[Mapping[str, tuple[int, int | None]]] = {
    "NodePrepareResources": (6, 25),
    "NodeUnprepareResources": (5, None),
}
_MUST_LATER_MS: Final = 200
_MUST_GATED_MS: Final = 150  # the prepare left out
_GATED: Final = {"schedulingGates": [{"name": GATE}]}


@dataclass(frozen=True, slots=True)
class _Kind:
    """Pods that are measured.

    Shape: ``claims`` and ``spec`` as in a pod's spec.
    Units: ``took`` nanoseconds to running, each.
    """

    name: str
    claims: tuple[Mapping[str, str], ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    took: list[int] = field(default_factory=list)


def pods_one_after_another(bench: Bench, node: str) -> Iterator[Row]:
    """Measure ``bench.count`` pods of each kind on a node, in turns; gated ones where it is the controller's.

    Raises: BadInput.
    """
    plain, ours = _Kind("plain"), _claiming(bench, "ours", PARTITIONS)
    gated = [_Kind("gated", ours.claims, _GATED)] if _is_controlled(bench, node) else []
    others = [] if bench.beside is None else [_claiming(bench, "theirs", bench.beside)]
    kubelets = [Kubelet(bench, node, driver) for driver in (DRIVER, bench.beside) if driver is not None]
    kinds = [plain, ours, *gated, *others]
    with following(bench, "Pod", namespace=bench.namespace) as pods:
        for number in range(bench.count):
            bench.say(f"pods {number + 1} of {bench.count}")
            for kind in kinds:
                document = pod(f"{kind.name}-{number}", {**on_node(node), **kind.spec}, kind.claims)
                kind.took.append(_one(bench, pods, document))
            for kubelet in kubelets:
                kubelet.look()
    yield from kubelets[0].rows(_MUST_MS)
    for other in kubelets[1:]:
        yield from other.rows({})
        yield from kubelets[0].beside(other)
    yield times("pod without a claim, created to running", plain.took)
    yield times("pod with a MIG claim, created to running", ours.took)
    for kind in others:
        yield times(f"pod with a claim of {bench.beside}, created to running", kind.took)
    must_ms = (
        None if gated else _MUST_LATER_MS
    )  # without the gate kube-scheduler tries such a pod in vain first
    yield _later("later because of the claim", plain, ours, must_ms)
    for kind in gated:
        yield times("pod with a MIG claim and our gate, created to running", kind.took)
        prepare_ns = kubelets[0].mean_ns("NodePrepareResources")
        yield _later(
            "later because of claim and gate, prepare left out", plain, kind, _MUST_GATED_MS, prepare_ns
        )


def _later(case: str, plain: _Kind, kind: _Kind, must_ms: int | None, prepare_ns: float = 0.0) -> Row:
    less = ", less the mean of NodePrepareResources" if prepare_ns else ""
    return Row(
        case=case,
        unit=Unit.NANOSECONDS,
        median=max(0.0, median(kind.took) - median(plain.took) - prepare_ns),
        samples=len(kind.took),
        must=None if must_ms is None else must_ms * MS,
        note=f"difference of the medians{less}",
    )


def _is_controlled(bench: Bench, node: str) -> bool:
    """Whether a node's devices are the controller's."""
    (found,) = bench.cluster.list("Node", f"metadata.name={node}") or ({"metadata": {}},)
    return (found["metadata"].get("labels") or {}).get(OWNER) == CONTROLLER


def _claiming(bench: Bench, name: str, device_class: str) -> _Kind:
    """Make a template for one device of a class, and return the pods that claim it."""
    bench.cluster.create("ResourceClaimTemplate", template(name, device_class), bench.namespace)
    return _Kind(name, ({"name": "device", "resourceClaimTemplateName": name},))


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

    def __init__(self, bench: Bench, node: str, driver: str) -> None:
        self._bench, self._node, self._driver = bench, node, driver
        self._took: dict[str, list[int]] = {method: [] for method in _MUST_MS}
        self._before = self._read()

    def look(self) -> None:
        """Take note of the calls since the last look; several count with their mean each."""
        now = self._read()
        for method, calls in now.items():
            new = calls.since(self._before[method])
            self._took[method] += [round(new.total_s / new.count * _NS)] * int(new.count) if new.count else []
        self._before = now

    def mean_ns(self, method: str) -> float:
        """Return how long calls of a method took in the mean. Units: nanoseconds; 0 where there were none."""
        return mean(self._took[method] or [0])

    def rows(self, must_ms: Mapping[str, tuple[int, int | None]]) -> Iterator[Row]:
        """Yield mean and 99th percentile of each method that was called."""
        of = "" if self._driver == DRIVER else f" of {self._driver}"
        for method, took in self._took.items():
            if took:
                mean_ms, p99_ms = must_ms.get(method, (None, None))
                yield _row(f"{method}{of}, mean", mean(took), len(took), mean_ms)
                yield _row(f"{method}{of}, p99", percentile(took, 99), len(took), p99_ms)

    def beside(self, other: Kubelet) -> Iterator[Row]:
        """Yield how long our calls took, in percent of another driver's."""
        for method, took in self._took.items():
            theirs = other._took[method]
            if took and theirs:
                yield Row(
                    case=f"{method}, of {other._driver}'s",
                    unit=Unit.PERCENT,
                    median=100 * mean(took) / mean(theirs),
                    samples=len(took),
                    note="means of one run, pods in turns",
                )

    def _read(self) -> dict[str, Calls]:
        page = self._bench.cluster.text(f"/api/v1/nodes/{self._node}/proxy/metrics")
        driver = re.escape(self._driver)
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
