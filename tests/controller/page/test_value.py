"""Occupancy as the page has it: bars of cells, cuts and their holders."""

from __future__ import annotations

import json

import page_objects
import pytest

from scheduler_core.codec.documents import Document
from tangram.page.file_cluster import FileCluster
from tangram.page.report import page_of


def value(*objects):
    cluster = FileCluster(Document(f"object {at}", one) for at, one in enumerate(objects))
    return page_of(cluster, page_objects.DRIVER, "a cluster")


@pytest.fixture(scope="module")
def small():
    return value(*page_objects.small_cluster())


def device(found, node, name):
    nodes = {one["name"]: one for one in found["nodes"]}
    return next(one for one in (*nodes[node]["gpus"], *nodes[node]["nics"]) if one["name"] == name)


def test_it_is_json(small):
    assert json.loads(json.dumps(small)) == small


def test_partitions_are_cuts_of_their_gpu(small):
    gpu = device(small, "dgx-1", "gpu-2")
    assert gpu["cells"] == 8
    assert gpu["cuts"] == [
        {"start": 0, "size": 4, "label": "3g.20gb", "holders": ["recsys/rank-0-gpu"]},
        {"start": 4, "size": 1, "label": "1g.5gb", "holders": ["recsys/rank-1-gpu"]},
        {"start": 6, "size": 1, "label": "1g.5gb", "holders": ["vision/infer-0-gpu"]},
    ]
    assert (gpu["used"], gpu["unusable"]) == (6, [7])


def test_a_whole_gpu_is_one_cut_and_a_vf_a_cut_of_its_nic(small):
    (cut,) = device(small, "dgx-1", "gpu-0")["cuts"]
    assert cut == {"start": 0, "size": 8, "label": "whole GPU", "holders": ["research/train-0-gpu"]}
    cuts = device(small, "dgx-1", "nic-0000-0c-00-0")["cuts"]
    assert [(one["start"], one["label"]) for one in cuts] == [(0, "VF 0"), (1, "VF 1")]


def test_a_device_says_what_leads_to_it(small):
    assert device(small, "dgx-1", "gpu-2")["place"] == [
        "NUMA node 1, pci0000:40",
        "root port 0000:40:01.1",
        "switch 0000:41:00.0",
    ]


def test_nodes_add_up_their_memory_slices_and_namespaces_what_they_hold(small):
    assert [(one["used"], one["total"]) for one in small["nodes"]] == [(33, 64), (8, 64)]
    assert sum(one["used"] for one in small["namespaces"]) == 41
    assert {one["namespace"]: one["vfs"] for one in small["namespaces"]} == {
        "recsys": 0,
        "research": 2,
        "speech": 0,
        "vision": 1,
    }


def test_pods_that_wait_have_a_reason(small):
    first, second = small["waiting"]
    assert (first["namespace"], first["name"]) == ("speech", "tts-0")
    assert first["reason"] == "node dgx-1 has its devices free: they are not allocated yet"
    assert (second["namespace"], second["name"]) == ("vision", "infer-9")
    assert second["reason"].startswith("2 nodes: vision/infer-9-gpu request device: no device matches")
    assert "to make it fit: correct 9g.90gb to 7g.40gb in request device: fits on dgx-1" in second["details"]


def test_pods_that_ask_for_the_same_are_told_about_their_own_claims_only():
    nodes = [*page_objects.node("dgx-1"), page_objects.device_class("mig")]
    first = page_objects.waiting("team-a", "first", "mig", "9g.90gb")
    second = page_objects.waiting("team-b", "second", "mig", "9g.90gb")
    one, other = value(*nodes, *first, *second)["waiting"]
    assert one["reason"].startswith("1 node: team-a/first-gpu request device: no device matches")
    assert other["reason"].startswith("1 node: team-b/second-gpu request device: no device matches")
    assert "team-a" not in json.dumps(other)
    assert len(one["details"]) == len(other["details"])


def of_other_driver():
    found = page_objects.device_class("other")
    return {**found, "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}}


ELSEWHERE = "asks for devices that driver tangram.dev does not publish on single nodes; tangram explain pod/"


def test_a_pod_that_waits_for_devices_of_another_driver_gets_no_reason_and_no_advice_about_ours():
    nodes = [*page_objects.node("dgx-1"), of_other_driver()]
    pods = [*page_objects.waiting("a", "first", "other"), *page_objects.waiting("b", "second", "other")]
    found = value(*nodes, *pods)["waiting"]
    assert [(one["reason"], one["details"]) for one in found] == [
        (f"{ELSEWHERE}first -n a says why", []),
        (f"{ELSEWHERE}second -n b says why", []),
    ]


def test_a_pod_that_may_wait_for_a_device_of_no_node_gets_no_reason_about_those_of_nodes():
    nodes = [*page_objects.node("dgx-1"), page_objects.device_class("mig")]
    (_, one) = page_objects.small_node("n")
    pool = {"name": "multi-node/channels", "generation": 1, "resourceSliceCount": 1}
    spec = {**one["spec"], "pool": pool, "allNodes": True}
    del spec["nodeName"]
    channels = {**one, "metadata": {"name": "channels"}, "spec": spec}
    asking = page_objects.waiting("team", "first", "mig", "channel")
    (found,) = value(*nodes, channels, *asking)["waiting"]
    assert found["reason"] == f"{ELSEWHERE}first -n team says why"
    (found,) = value(*nodes, *asking)["waiting"]
    assert found["reason"].startswith("1 node: team/first-gpu request device: no device matches")


def test_a_pod_waits_for_a_driver_without_nodes():
    (found,) = value(*page_objects.waiting("team", "first"))["waiting"]
    assert found["reason"] == "no node publishes devices of driver tangram.dev"


def test_a_pod_without_its_claim_waits_for_it():
    found = value(*page_objects.small_node("n"), page_objects.pod("team", "first", "missing"))
    assert [one["reason"] for one in found["waiting"]] == ["claim missing does not exist yet"]


def test_a_tainted_gpu_is_not_healthy():
    node, one = page_objects.small_node("n")
    taint = {"key": "tangram.dev/xid", "value": "79", "effect": "NoSchedule"}
    one["spec"]["devices"][0]["taints"] = [taint]
    (gpu,) = value(node, one)["nodes"][0]["gpus"]
    assert gpu["health"] == [{"text": "tangram.dev/xid: 79", "effect": "NoSchedule"}]


def test_a_nic_that_is_held_as_a_whole_is_in_use_as_a_whole():
    nodes = [*page_objects.node("dgx-1"), page_objects.device_class("nic")]
    (nic,) = [
        one
        for one in value(*nodes, *page_objects.running("team", "first", "dgx-1", "nic-0000-0c-00-0"))[
            "nodes"
        ][0]["nics"]
        if one["cuts"]
    ]
    assert nic["used"] == nic["total"] == nic["cells"] > 1


def test_a_cluster_without_anything_has_a_page():
    found = value()
    assert (found["nodes"], found["fragmentation"]["value"]) == ([], None)
