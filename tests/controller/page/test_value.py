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
    assert second["reason"].startswith(
        "on 2 nodes (such as dgx-1) request device of claim vision/infer-9-gpu matches no device: "
    )
    advice = "to make it fit: ask for 7g.40gb instead of 9g.90gb in request device: fits on dgx-1"
    assert advice in second["details"]


def test_pods_that_ask_for_the_same_are_told_about_their_own_claims_only():
    nodes = [*page_objects.node("dgx-1"), page_objects.device_class("mig")]
    first = page_objects.waiting("team-a", "first", "mig", "9g.90gb")
    second = page_objects.waiting("team-b", "second", "mig", "9g.90gb")
    one, other = value(*nodes, *first, *second)["waiting"]
    begins = "on node dgx-1 request device of claim"
    assert one["reason"].startswith(f"{begins} team-a/first-gpu matches no device: ")
    assert other["reason"].startswith(f"{begins} team-b/second-gpu matches no device: ")
    assert "team-a" not in json.dumps(other)
    assert len(one["details"]) == len(other["details"])


def of_other_driver():
    found = page_objects.device_class("other")
    return {**found, "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}}


OTHER = "gpu.example.com"


def slice_of(name, *devices, driver=OTHER, pool="", **nodes):
    """Return a slice that is a whole pool; the nodes are named by the fields of the API."""
    spec = {
        "driver": driver,
        "pool": {"name": pool or name, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": one} for one in devices],
        **nodes,
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": spec,
    }


def holding(name, driver, pool, *devices):
    found = page_objects.held("team", name, pool, devices, f"{name}-pod")
    for one in found["status"]["allocation"]["devices"]["results"]:
        one["driver"] = driver
    return found


def test_devices_of_another_driver_are_listed_beside_ours_with_their_driver_and_who_holds_each():
    nodes = [*page_objects.node("dgx-1"), slice_of("theirs", "a", "b", "c", nodeName="dgx-1")]
    (found,) = value(*nodes, holding("job", OTHER, "theirs", "b"))["nodes"]
    (other,) = found["others"]
    assert len(found["gpus"]) == 8
    assert (other["name"], other["text"]) == (f"device of {OTHER}", "2 of 3 free")
    assert (other["used"], other["total"], other["cells"], other["unusable"]) == (1, 3, 3, [])
    assert other["cuts"] == [{"start": 0, "size": 1, "label": "b", "holders": ["team/job"]}]


def test_of_many_devices_of_one_kind_those_that_are_not_held_are_one_cell():
    names = [f"d-{number}" for number in range(100)]
    (found,) = value(slice_of("theirs", *names, nodeName="n"), holding("job", OTHER, "theirs", "d-7"))[
        "nodes"
    ]
    (other,) = found["others"]
    assert (other["cells"], other["used"], other["total"], other["text"]) == (2, 1, 100, "99 of 100 free")
    assert other["cuts"] == [{"start": 0, "size": 1, "label": "d-7", "holders": ["team/job"]}]


def test_every_holder_of_many_devices_is_named():
    names = [f"d-{number:03}" for number in range(100)]
    claims = [holding(f"job-{one}", OTHER, "theirs", one) for one in names[:40]]
    (found,) = value(slice_of("theirs", *names, nodeName="n"), *claims)["nodes"]
    (other,) = found["others"]
    assert (other["cells"], other["cuts"][-1]["label"]) == (33, "9 devices")
    assert len({one for cut in other["cuts"] for one in cut["holders"]}) == 40


def test_gpus_of_two_drivers_on_one_node_are_told_apart_by_their_driver():
    (node, ours), (_, theirs) = page_objects.small_node("n"), page_objects.small_node("n")
    theirs = {**theirs, "metadata": {"name": "theirs"}, "spec": {**theirs["spec"], "driver": OTHER}}
    (found,) = value(node, ours, theirs)["nodes"]
    assert [one["name"] for one in found["gpus"]] == [f"gpu-0 of {OTHER}", "gpu-0 of tangram.dev"]


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ({"allNodes": True}, "all nodes"),
        (
            {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "rack", "operator": "In", "values": ["r1"]},
                {"key": "old", "operator": "DoesNotExist"},
            ]}]}},
            "nodes with rack=r1 and no old",
        ),
    ],
)  # fmt: skip
def test_a_pool_of_no_single_node_comes_last_with_where_it_can_be_used(nodes, told):
    shared = slice_of("rack-1", "a", "b", **nodes)
    found = value(*page_objects.small_node("n"), shared, holding("job", OTHER, "rack-1", "a"))
    assert [one["name"] for one in found["nodes"]] == ["n", "devices of no single node"]
    (other,) = found["nodes"][1]["others"]
    assert other["text"] == f"1 of 2 free · pool rack-1 · usable from {told}"
    assert [(one["namespace"], one["others"]) for one in found["namespaces"]] == [("team", 1)]


def test_only_the_drivers_that_are_asked_for_are_shown():
    theirs = slice_of("theirs", "a", nodeName="m")
    objects = [*page_objects.small_node("n"), theirs, holding("job", OTHER, "theirs", "a")]
    cluster = FileCluster(Document(f"object {at}", one) for at, one in enumerate(objects))
    found = page_of(cluster, page_objects.DRIVER, "a cluster", ["tangram.dev"])
    assert [one["name"] for one in found["nodes"]] == ["n"]
    assert (found["claims"], found["namespaces"]) == ({}, [])


def test_a_pod_that_waits_for_devices_of_another_driver_is_told_why():
    nodes = [*page_objects.small_node("n"), slice_of("theirs", "a", nodeName="n"), of_other_driver()]
    asking = page_objects.waiting("team", "first", "other")
    (found,) = value(*nodes, *asking)["waiting"]
    assert found["reason"] == "node n has its devices free: they are not allocated yet"
    (found,) = value(*nodes, *asking, holding("job", OTHER, "theirs", "a"))["waiting"]
    assert "team/job" in json.dumps(found)


def test_a_pod_may_wait_for_a_device_of_no_node():
    (node, _) = page_objects.small_node("n")
    shared = slice_of("rack-1", "a", allNodes=True)
    asking = [of_other_driver(), *page_objects.waiting("team", "first", "other")]
    (found,) = value(node, shared, *asking)["waiting"]
    assert found["reason"] == "node n has its devices free: they are not allocated yet"


def test_a_pod_waits_in_a_cluster_without_devices():
    (found,) = value(*page_objects.waiting("team", "first"))["waiting"]
    assert found["reason"] == "no DRA driver publishes devices in this cluster"


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
