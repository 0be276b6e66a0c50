"""Koordinator's Device object: what a node reports, read strictly."""

import pytest

from scheduler_core.frontends.annotations.errors import InvalidNode
from scheduler_core.frontends.pods.device_object import decode_device
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import place_pod
from scheduler_core.frontends.pods.pod_request import ask_of
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.state.cluster_state import ClusterState

PREFIX = "scheduling.koordinator.sh/"
WHOLE = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": 100}


def reported(kind, minor, pcie="0", **more):
    resources = WHOLE if kind == "gpu" else {"koordinator.sh/rdma": "100"}
    place = {"pcieID": pcie, "nodeID": 0, "busID": f"0000:{minor:02x}:00.0"}
    base = {"type": kind, "minor": minor, "health": True, "resources": resources, "topology": place}
    return base | more


def device(*devices, table=None, policy=None):
    metadata = {"name": "node-1"}
    if table is not None:
        metadata["annotations"] = {PREFIX + "gpu-partitions": table}
    if policy is not None:
        metadata["labels"] = {"node.koordinator.sh/gpu-partition-policy": policy}
    return {"kind": "Device", "metadata": metadata, "spec": {"devices": list(devices)}}


def place(obj, requests, **annotations):
    found = decode_device(obj)
    ask = ask_of("Pod d/p", requests, {name.replace("_", "-"): value for name, value in annotations.items()})
    return place_pod(
        ask, ClusterState.of(Cluster(pools=(found.pool,), classes={})), Node("node-1"), found.table
    )


def test_a_pod_is_placed_on_what_a_device_object_reports():
    groups = [{"labels": {"type": "fast"}, "vfs": [{"minor": 0, "busID": "0000:90:00.2"}]}]
    obj = device(reported("gpu", 0, "1"), reported("rdma", 0), reported("rdma", 1, "1", vfGroups=groups))
    hint = {"rdma": {"vfSelector": {"matchLabels": {"type": "fast"}}}}

    found = place(
        obj,
        {"nvidia.com/gpu": 1, "koordinator.sh/rdma": 1},
        device_joint_allocate={"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"},
        device_allocate_hint=hint,
    )

    assert isinstance(found, PlacedPod)
    assert [one.number for one in found.node_devices["rdma"]] == [1]
    assert [one.device for one in found.devices["rdma"][0]] == ["rdma-1", "rdma-1-vf-0000:90:00.2"]


def test_the_table_and_the_policy_of_the_object_are_heeded():
    table = '{"2": [{"minors": [1, 2]}]}'
    obj = device(*(reported("gpu", minor) for minor in range(3)), table=table, policy="Honor")

    assert [one.number for one in place(obj, {"nvidia.com/gpu": 2}).node_devices["gpu"]] == [1, 2]
    assert not isinstance(place(obj, {"nvidia.com/gpu": 1}), PlacedPod)


def test_a_device_of_another_node_is_not_given():
    found = decode_device(device(reported("gpu", 0)))
    ask = ask_of("Pod d/p", {"nvidia.com/gpu": 1}, {})

    answer = place_pod(ask, ClusterState.of(Cluster(pools=(found.pool,), classes={})), Node("node-2"))

    assert not isinstance(answer, PlacedPod)


def test_a_device_without_health_is_not_given():
    obj = device(reported("gpu", 0, health=None))

    assert not isinstance(place(obj, {"nvidia.com/gpu": 1}), PlacedPod)


@pytest.mark.parametrize(
    ("devices", "table", "parts"),
    [
        ([reported("gpu", 0), reported("gpu", 0)], None, ["spec.devices[1].minor: 0", "twice"]),
        ([reported("gpu", -1)], None, ["spec.devices[0].minor", "-1", "at least 0"]),
        ([reported("gpu", 0)], '{"1": [{"minors": [3]}]}', ["1[0].minors[0]", "3", "it has 0"]),
        ([reported("gpu", 0, resources={"koordinator.sh/gpu-core": "-1"})], None, ["gpu-core", "'-1'"]),
        ([reported("gpu", 0, labels={"a": 1})], None, ["spec.devices[0].labels.a", "string"]),
    ],
)
def test_a_bad_report_is_refused_with_its_place(devices, table, parts):
    with pytest.raises(InvalidNode) as refusal:
        decode_device(device(*devices, table=table))

    assert all(part in str(refusal.value) for part in parts)
