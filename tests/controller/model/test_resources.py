"""What a pod needs of a node is the most that runs at one time, as kube-scheduler counts it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.model.resources import Amounts, pod_needs, read_amounts

Spec = dict[str, Any]


def container(cpu: str, *, sidecar: bool = False) -> Spec:
    made: Spec = {"resources": {"requests": {"cpu": cpu}}}
    return {**made, "restartPolicy": "Always"} if sidecar else made


CASES: dict[str, tuple[Spec, int]] = {
    "containers are added up": ({"containers": [container("1"), container("500m")]}, 1500),
    "an init container that needs more": (
        {"containers": [container("1")], "initContainers": [container("3")]},
        3000,
    ),
    "init containers follow each other": (
        {"containers": [container("1")], "initContainers": [container("2"), container("3")]},
        3000,
    ),
    "a sidecar runs on": (
        {"containers": [container("1")], "initContainers": [container("2", sidecar=True)]},
        3000,
    ),
    "an init container beside the sidecar before it": (
        {"containers": [container("1")], "initContainers": [container("2", sidecar=True), container("2")]},
        4000,
    ),
    "an init container before the sidecar": (
        {"containers": [container("1")], "initContainers": [container("2"), container("2", sidecar=True)]},
        3000,
    ),
    "overhead": ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250),
    "requests of the pod": (
        {"containers": [container("1")], "resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "1"}},
        4000,
    ),
    "requests of the pod that are less": (
        {"containers": [container("4")], "resources": {"requests": {"cpu": "2"}}},
        2000,
    ),
    "requests of the pod for something else": (
        {"containers": [container("1")], "resources": {"requests": {"memory": "1Gi"}}},
        1000,
    ),
    "no requests": ({"containers": [{}]}, 0),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cpu_of_a_pod(case: str) -> None:
    spec, cpu = CASES[case]
    assert pod_needs(spec).cpu == cpu
    assert pod_needs(spec).pods == 1


sizes = st.integers(0, 9)


@given(st.lists(st.tuples(sizes, st.booleans()), max_size=5), st.lists(sizes, max_size=3), sizes)
def test_a_pod_needs_the_most_that_runs_at_one_time(
    starting: list[tuple[int, bool]], running: list[int], overhead: int
) -> None:
    spec = {
        "initContainers": [container(str(cpu), sidecar=sidecar) for cpu, sidecar in starting],
        "containers": [container(str(cpu)) for cpu in running],
        "overhead": {"cpu": str(overhead)},
    }
    moments = []
    for number, (cpu, _) in enumerate(starting):
        before = sum(each for each, stays in starting[:number] if stays)
        moments.append(before + cpu)
    moments.append(sum(running) + sum(cpu for cpu, sidecar in starting if sidecar))
    assert pod_needs(spec).cpu == 1000 * (max(moments) + overhead)


@pytest.mark.parametrize(
    ("listed", "amounts"),
    [
        (
            {"cpu": "100m", "memory": "1Ki", "ephemeral-storage": "1k", "pods": "110"},
            Amounts(100, 1024, 1000, 110),
        ),
        ({"cpu": "100u"}, Amounts(cpu=1)),  # kube-scheduler counts whole thousandths, rounded up
        ({"memory": "1500m"}, Amounts(memory=2)),
        ({"cpu": 2}, Amounts(cpu=2000)),
        ({"cpu": "many", "memory": "1Ki"}, Amounts(memory=1024)),
        ({"nvidia.com/gpu": "1"}, Amounts()),
        (None, Amounts()),
    ],
)
def test_amounts_are_read_as_kubernetes_reads_them(listed: Any, amounts: Amounts) -> None:
    assert read_amounts(listed) == amounts
