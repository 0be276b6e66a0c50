"""Measures the programs on a node: time until slices are visible, requests at rest, memory.

Takes a cluster with Tangram; returns rows. Everything created here is deleted here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tangram.bench.cluster_follow import following
from tangram.bench.cluster_metrics import counted
from tangram.bench.cluster_objects import BENCH_DRIVER, agent_pod, rights
from tangram.bench.cluster_port import NAMESPACE, Bench, Document
from tangram.bench.report import MS, Row, Unit, times
from tangram.errors import BadInput

_NS: Final = 1_000_000_000
_REQUESTS: Final = "apiserver_request_total"
_SLICES: Final = ("ResourceSlice", "CompositeResourceSlice")
_RESOURCES: Final = "resourceslices|compositeresourceslices"
_WRITING: Final = "POST|PUT|PATCH|APPLY|DELETE|DELETECOLLECTION"
_READING: Final = "GET|LIST"
_MUST_START_MS: Final = 2000
_MUST_MIB: Final = {"agent": 90, "plugin": 80}
_RESIDENT: Final = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)
_STATUSES: Final = (
    'for one in /proc/[0-9]*; do [ "$(readlink $one/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ] '
    "&& cat $one/status; done; true"
)
"""Prints the status of each process of this container: the pod sees all processes of the node."""
_MINUTE_S: Final = 60.0


def starts(bench: Bench, node: str) -> Row:
    """Measure from an agent's pod that is created on a node to its devices being published whole."""
    (daemonset,) = bench.cluster.list("DaemonSet", f"metadata.namespace={NAMESPACE},metadata.name=tangram")
    waited = []
    with _account(bench) as account:
        for number in range(bench.starts):
            bench.say(f"agent {number + 1} of {bench.starts}")
            pod = agent_pod(daemonset, f"{bench.namespace}-{number}", node, account)
            waited.append(_start(bench, pod))
    return times(
        "agent's pod created to slices visible", waited, _MUST_START_MS * MS, "agent alone in its pod"
    )


@contextmanager
def _account(bench: Bench) -> Iterator[str]:
    """Make a service account that may write slices of any driver, while the block runs."""
    account = bench.namespace
    try:
        bench.cluster.create("ServiceAccount", {"metadata": {"name": account}}, NAMESPACE)
        bench.cluster.create("ClusterRoleBinding", rights(account, NAMESPACE))
        yield account
    finally:
        bench.cluster.delete("ClusterRoleBinding", account)
        bench.cluster.delete("ServiceAccount", account, NAMESPACE)


def _start(bench: Bench, document: Document) -> int:
    name = document["metadata"]["name"]
    fields = f"spec.driver={BENCH_DRIVER}"
    try:
        with following(bench, "ResourceSlice", fields) as slices:
            start = bench.clock()
            bench.cluster.create("Pod", document, NAMESPACE)
            at = slices.until(_is_whole(), f"pod {NAMESPACE}/{name} publishes its node's devices")
    finally:
        _end(bench, name)
    return round((at - start) * _NS)


def _is_whole() -> Callable[[str, Document | None], bool]:
    """Return a question about each change: are all slices of the pool there with it?"""
    seen: dict[str, Document] = {}

    def ask(name: str, now: Document | None) -> bool:
        if now is None:
            seen.pop(name, None)
            return False
        seen[name] = now["spec"]["pool"]
        newest = max(pool["generation"] for pool in seen.values())
        current = [pool for pool in seen.values() if pool["generation"] == newest]
        return len(current) == int(current[0]["resourceSliceCount"])

    return ask


def _end(bench: Bench, name: str) -> None:
    """Delete the pod, and once it publishes no more, what it has published."""
    with following(bench, "Pod", f"metadata.name={name}", NAMESPACE) as pods:
        bench.cluster.delete("Pod", name, NAMESPACE)
        if bench.cluster.list("Pod", f"metadata.namespace={NAMESPACE},metadata.name={name}"):
            pods.until(lambda _, now: now is None, f"pod {NAMESPACE}/{name} is gone")
    for kind in _SLICES:
        for found in bench.cluster.list(kind, f"spec.driver={BENCH_DRIVER}"):
            bench.cluster.delete(kind, found["metadata"]["name"])


def at_rest(bench: Bench) -> Sequence[Row]:
    """Count what the API server is asked about slices while nothing happens, by whomever."""
    bench.say(f"at rest for {bench.rest_s:.0f} s")
    before = bench.cluster.text("/metrics")
    bench.sleep(bench.rest_s)
    after = bench.cluster.text("/metrics")

    def asked(verbs: str) -> float:
        def now(text: str) -> float:
            return counted(text, _REQUESTS, verb=verbs, resource=_RESOURCES)

        return now(after) - now(before)

    note = f"about slices, in {bench.rest_s:.0f} s, as the API server counts them"
    reads = asked(_READING) * _MINUTE_S / bench.rest_s
    return (
        Row(case="at rest: writes", unit=Unit.CALLS, median=asked(_WRITING), must=0, note=note),
        Row(case="at rest: reads a minute", unit=Unit.CALLS, median=reads, must=1, note=note),
    )


def memory(bench: Bench, pod: Document) -> Iterator[Row]:
    """Yield what each program of Tangram's pod holds: its own process, the largest of its container."""
    name = pod["metadata"]["name"]
    for program, must in _MUST_MIB.items():
        statuses = bench.kubectl(
            "exec", f"--namespace={NAMESPACE}", name, f"--container={program}", "--", "sh", "-c", _STATUSES
        )
        found = [int(each) for each in _RESIDENT.findall(statuses)]
        if not found:
            raise BadInput(f"cannot read the memory of container {program} of pod {name}: no VmRSS")
        yield Row(
            case=f"memory of the {program}",
            unit=Unit.MEBIBYTES,
            median=max(found) / 1024,
            must=must,
            note="resident, shared pages included; without its NVML process",
        )
