"""Cases of annotated pods: a node with GPUs and NICs, a pod, and the devices it must get.

The form is the cases' own: devices with minors, a switch and a NUMA node each, labels, VFs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_core.base.errors import InvalidInput
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.partitions.table import HONOR, table_of
from scheduler_core.frontends.pods.amounts import Amounts, read_amount
from scheduler_core.frontends.pods.hints import FPGA, GPU, RDMA, Exclusive
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import place_pod
from scheduler_core.frontends.pods.pod_request import amounts_of, ask_of
from scheduler_core.frontends.pods.reported import ReportedDevice, ReportedUse, ReportedVf, held, pool_of
from scheduler_core.frontends.pods.scoring import Fill, Scoring
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Undecided
from scheduler_core.state.cluster_state import ClusterState
from tangram.conformance.pod_properties import failing
from tangram.conformance.runs import unequal
from tangram.undecided import SearchGaveUp

_NODE = "node-1"
_LISTS = {GPU: "gpus", RDMA: "nics", FPGA: "fpgas"}


@dataclass(frozen=True, slots=True)
class PodRun:
    """A pod, answered in the form of ``expect``."""

    content: Mapping[str, Any]
    answer: Mapping[str, Any]

    def differences(self, expect: Any) -> Iterator[str]:
        """Yield how the answer differs; amounts count where the case prints them."""
        if "allocated" not in expect:
            keys = ("unschedulable", "invalid_request")
            refused = {key: expect[key] for key in keys if key in expect}
            found = {key: self.answer[key] for key in keys if key in self.answer}
            yield from unequal("answer", refused, found or self.answer)
            return
        if "allocated" not in self.answer:
            yield from unequal("answer", expect["allocated"], self.answer)
            return
        given = self.answer["allocated"]
        for kind in sorted({*expect["allocated"], *given}):
            wanted = _by_minor(expect["allocated"].get(kind, ()))
            yield from unequal(kind, wanted, _by_minor(given.get(kind, ()), wanted))

    def lacks(self, accept: Any) -> Iterator[str]:
        """Yield what the answer lacks of what the case accepts."""
        others = accept.get("any_of", ())
        if any(not list(self.differences(other)) for other in others):
            return
        properties = accept.get("property", ())
        if others and not properties:
            yield f"the answer is none of the {len(others)} that are accepted: {self.answer}"
        elif "allocated" not in self.answer:
            yield f"properties are asked of an allocation; the answer is {self.answer}"
        else:
            yield from failing(properties, self.answer["allocated"], self.content)


def placed(content: Mapping[str, Any]) -> PodRun:
    """Return the answer to a case."""
    try:
        found = _placed(content)
    except InvalidInput as refusal:
        return PodRun(content, {"invalid_request": True, "reason": str(refusal)})
    match found:
        case JointRefusal(detail=detail):
            return PodRun(content, {"unschedulable": True, "reason": detail})
        case PlacedPod():
            return PodRun(content, {"allocated": _plain(found, content)})


def _placed(content: Mapping[str, Any]) -> PlacedPod | JointRefusal:
    node, pod, config = content["node"], content["pod"], content.get("config") or {}
    ask = ask_of("Pod case", amounts_of("Pod case", pod["requests"]), pod.get("annotations") or {})
    devices = list(_devices(node))
    table = node.get("partition_table")
    tables = NodeTable(
        table=table_of(f"Node {_NODE}", table) if table is not None else None,
        is_honored=node.get("partition_policy") == HONOR,
    )
    cluster = Cluster(
        pools=(pool_of(_NODE, devices, config.get("numa_affinity")),),
        classes={},
        allocated=held(_NODE, list(_uses(content)), devices),
    )
    found = place_pod(ask, ClusterState.of(cluster), Node(_NODE), tables, scoring_of(config))
    if isinstance(found, Undecided):
        raise SearchGaveUp(found)
    return found


def scoring_of(config: Mapping[str, Any]) -> Scoring | None:
    """Return how a case scores devices, None where it does not."""
    if "scoring" not in config:
        return None
    weights = config.get("weights")
    fill = Fill(config["scoring"])
    return Scoring(fill) if weights is None else Scoring(fill, weights)


def amounts(values: Mapping[str, Any] | None) -> Amounts:
    """Return amounts as whole numbers."""
    return {name: read_amount("case", name, name, value) for name, value in (values or {}).items()}


def _devices(node: Mapping[str, Any]) -> Iterator[ReportedDevice]:
    for kind, key in _LISTS.items():
        for one in node.get(key) or ():
            yield ReportedDevice(
                kind=kind,
                minor=one["minor"],
                pcie=one.get("pcie"),
                numa=one.get("numa"),
                bus_id=one.get("busID"),
                labels=one.get("labels") or {},
                is_healthy=one.get("health") is not False,
                total=amounts(one.get("resources")),
                vfs=tuple(
                    ReportedVf(bus_id=vf["busID"], labels=vf.get("labels") or {})
                    for vf in one.get("vfs") or ()
                ),
            )


def _uses(content: Mapping[str, Any]) -> Iterator[ReportedUse]:
    for one in content.get("in_use") or ():
        policy = one.get("exclusivePolicy")
        yield ReportedUse(
            kind=one["type"],
            minor=one["minor"],
            amounts=amounts(one["resources"]) if one.get("resources") is not None else None,
            vfs=tuple(vf["busID"] for vf in one.get("vfs") or ()),
            exclusive=Exclusive(policy) if policy else None,
        )


def _plain(found: PlacedPod, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the devices as cases print them."""
    answer: dict[str, Any] = {}
    for kind, chosen in found.node_devices.items():
        listed = {one["minor"]: one for one in content["node"][_LISTS[kind]]}
        answer[kind] = []
        for one, devices in zip(chosen, found.devices[kind], strict=True):
            names = {one.device for one in devices}
            numbers = enumerate(listed[one.number].get("vfs") or ())
            vfs = [
                {"busID": vf["busID"], "minor": vf.get("minor", number)}
                for number, vf in numbers
                if f"{kind}-{one.number}-vf-{vf['busID']}" in names
            ]
            answer[kind].append({"minor": one.number, "resources": dict(one.given), "vfs": vfs})
    return answer


def _by_minor(devices: Any, like: Mapping[int, Any] | None = None) -> dict[int, Any]:
    """Return the devices by minor, with as much of each as the expected answer prints."""
    found = {}
    for one in devices:
        printed = {"resources", "vfs"} if like is None else set(like.get(one["minor"], ()))
        found[one["minor"]] = {
            key: amounts(one[key]) if key == "resources" else sorted(vf["busID"] for vf in one[key])
            for key in ("resources", "vfs")
            if key in one and key in printed
        }
    return found
