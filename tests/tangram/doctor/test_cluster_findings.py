"""``tangram doctor --cluster``: each planted fault is found under its id, a healthy cluster has none."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tangram.doctor.cluster.facts import ClusterFacts
from tangram.doctor.cluster.findings import cluster_findings
from tangram.doctor.cluster.rules import POLICIES
from tangram.doctor.finding import Delete, RemoveFinalizer

DRIVER = "tangram.dev"
NOW_S = datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp()
LONG_AGO, JUST_NOW = "2026-06-01T08:00:00Z", "2026-06-01T11:59:55Z"
Document = dict[str, Any]


def meta(name: str, namespace: str = "", **more: Any) -> Document:
    found = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", "creationTimestamp": LONG_AGO}
    return {**found, **({"namespace": namespace} if namespace else {}), **more}


def node(name: str) -> Document:
    return {"metadata": meta(name, labels={"tangram.dev/node": "true"})}


def slice_of(node: str, name: str, **pool: Any) -> Document:
    device = {"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1, **pool},
        "devices": [device],
    }
    return {"metadata": meta(name), "spec": spec}


def driver_pod(node: str, daemon_set: str = "tangram") -> Document:
    """A pod of the DaemonSet, ready, as the manifests have it."""
    plugin = {
        "name": "plugin",
        "command": ["python3", "-P", "-m", "plugin"],
        "args": ["--node-name=$(NODE_NAME)", "--driver-name=$(DRIVER_NAME)"],
        "env": [{"name": "DRIVER_NAME", "value": DRIVER}],
    }
    owner = {"kind": "DaemonSet", "name": daemon_set, "uid": f"uid-{daemon_set}"}
    return {
        "metadata": meta(f"{daemon_set}-{node}", "tangram-system", ownerReferences=[owner]),
        "spec": {"nodeName": node, "serviceAccountName": "tangram", "containers": [plugin]},
        "status": {
            "phase": "Running",
            "containerStatuses": [{"name": one, "ready": True, "state": {}} for one in ("agent", "plugin")],
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}],
        },
    }


def user_pod(waiting: str = "ContainerCreating") -> Document:
    """A pod that waits on a node for its containers."""
    return {
        "metadata": meta("user", "team"),
        "spec": {
            "nodeName": "node-a",
            "containers": [{"name": "main"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        },
        "status": {
            "phase": "Pending",
            "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}],
            "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": waiting}}}],
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": LONG_AGO}],
        },
    }


def claim() -> Document:
    """A claim of the pod, with a device."""
    result = {"request": "r", "driver": DRIVER, "pool": "node-a", "device": "gpu-0"}
    return {
        "metadata": meta("c", "team", finalizers=["resource.kubernetes.io/delete-protection"]),
        "status": {
            "allocation": {"allocationTimestamp": LONG_AGO, "devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": "user", "uid": "uid-user"}],
        },
    }


def policy(name: str) -> Document:
    variables = [{"name": "driver", "expression": f'"{DRIVER}"'}]
    return {"metadata": meta(name), "spec": {"variables": variables}}


def binding(name: str) -> Document:
    spec: Document = {"policyName": name, "validationActions": ["Deny"]}
    if not name.endswith("claims-in-use"):
        spec["paramRef"] = {"name": "tangram", "namespace": "tangram-system"}
    return {"metadata": meta(name), "spec": spec}


def gpu_class() -> Document:
    expression = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "gpu"'
    return {"metadata": meta("gpu.tangram.dev"), "spec": {"selectors": [{"cel": {"expression": expression}}]}}


def running_user() -> Document:
    found = user_pod()
    found["status"] |= {"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]}
    return found


@pytest.fixture
def healthy() -> ClusterFacts:
    """Two nodes with the driver, and a pod with a device of one."""
    return ClusterFacts(
        driver=DRIVER,
        now_s=NOW_S,
        older_than_s=3600,
        version=(1, 37),
        gates={"DRAPartitionableDevices": True, "DRADeviceTaints": True},
        nodes=(node("node-a"), node("node-b")),
        slices=(slice_of("node-a", "a-00"), slice_of("node-b", "b-00")),
        claims=(claim(),),
        pods=(driver_pod("node-a"), driver_pod("node-b"), running_user()),
        classes=(gpu_class(),),
        policies=tuple(policy(one) for one in POLICIES),
        bindings=tuple(binding(one) for one in POLICIES),
        accounts=({"metadata": meta("tangram", "tangram-system")},),
        multi_node_pools=(),
        events=(),
    )


def ids(facts: ClusterFacts, **changed: Any) -> list[str]:
    return [one.id for one in cluster_findings(replace(facts, **changed))]


def test_a_healthy_cluster_has_no_finding(healthy: ClusterFacts) -> None:
    assert ids(healthy) == []


def test_a_cluster_without_tangram_lacks_its_policies_and_nothing_else(healthy: ClusterFacts) -> None:
    plain = {**meta("node-a"), "labels": {}}
    nothing: Document = dict.fromkeys(("slices", "claims", "pods", "classes", "policies", "bindings"), ())

    assert ids(healthy, nodes=({"metadata": plain},), **nothing) == [
        f"policy-missing/{one}" for one in POLICIES
    ]


def test_an_old_server_is_the_only_finding(healthy: ClusterFacts) -> None:
    assert ids(healthy, version=(1, 33), slices=(), nodes=()) == ["server-too-old/1.33"]


def test_a_gate_that_is_off_is_found_and_one_that_the_server_does_not_tell_is_not(
    healthy: ClusterFacts,
) -> None:
    assert ids(healthy, gates={"DRADeviceTaints": False}) == ["feature-gate-off/DRADeviceTaints"]
    assert ids(healthy, gates={}) == []


@pytest.mark.parametrize("pods", [(), ({**running_user(), "metadata": meta("user", "team", uid="another")},)])
def test_a_claim_of_a_pod_that_is_gone_or_replaced_is_found(
    healthy: ClusterFacts, pods: tuple[Document, ...]
) -> None:
    assert ids(healthy, pods=(*healthy.pods[:2], *pods)) == ["claim-of-gone-pod/team/c"]


def test_a_claim_that_is_reserved_for_something_else_than_a_pod_is_left_alone(healthy: ClusterFacts) -> None:
    found = claim()
    found["status"]["reservedFor"] = [{"apiGroup": "x.example", "resource": "jobs", "name": "j", "uid": "u"}]

    assert ids(healthy, claims=(found,)) == []


@pytest.mark.parametrize(("time", "expected"), [(LONG_AGO, ["claim-for-nobody/team/c"]), (JUST_NOW, [])])
def test_a_claim_that_is_reserved_for_nobody_is_found_after_a_while(
    healthy: ClusterFacts, time: str, expected: list[str]
) -> None:
    found = claim()
    found["status"]["reservedFor"] = []
    found["status"]["allocation"]["allocationTimestamp"] = time

    assert ids(healthy, claims=(found,)) == expected


def test_a_deleted_claim_without_devices_that_a_finalizer_keeps_is_found_and_can_be_freed(
    healthy: ClusterFacts,
) -> None:
    finalizers = ["example.com/other", "resource.kubernetes.io/delete-protection"]
    left = {"metadata": meta("old", "team", finalizers=finalizers, deletionTimestamp=LONG_AGO)}

    (found,) = cluster_findings(replace(healthy, claims=(claim(), left)))

    assert found.id == "finalizer-without-owner/claim/team/old"
    assert isinstance(found.fix, RemoveFinalizer)
    assert found.fix.rest == ("example.com/other",)


def test_a_deleted_claim_with_devices_of_another_driver_is_not_ours_to_free(healthy: ClusterFacts) -> None:
    other = claim()
    other["metadata"] = meta(
        "x", "team", finalizers=other["metadata"]["finalizers"], deletionTimestamp=LONG_AGO
    )
    other["status"]["allocation"]["devices"]["results"][0]["driver"] = "gpu.example.com"

    assert ids(healthy, claims=(claim(), other)) == []


def test_a_deleted_pool_of_several_nodes_is_found_once_no_claim_uses_it(healthy: ClusterFacts) -> None:
    pool = {"metadata": meta("pair", finalizers=["tangram.dev/multi-node-pool"], deletionTimestamp=LONG_AGO)}
    user = claim()
    user["status"]["allocation"]["devices"]["results"][0]["pool"] = "multi-node/pair"

    assert ids(healthy, multi_node_pools=(pool,)) == ["finalizer-without-owner/pool/pair"]
    assert ids(healthy, multi_node_pools=(pool,), claims=(user,)) == []


def test_slices_of_a_node_that_is_gone_can_be_deleted(healthy: ClusterFacts) -> None:
    (found,) = cluster_findings(replace(healthy, slices=(*healthy.slices, slice_of("node-c", "c-00"))))

    assert found.id == "slices-of-gone-node/node-c"
    assert isinstance(found.fix, Delete)
    assert [one.name for one in found.fix.objects] == ["c-00"]
    assert found.remedies == ("kubectl delete resourceslices c-00",)


def test_a_pool_that_lacks_a_slice_is_found(healthy: ClusterFacts) -> None:
    lacking = slice_of("node-b", "b-00", resourceSliceCount=2)

    assert ids(healthy, slices=(healthy.slices[0], lacking)) == ["pool-incomplete/node-b"]


def test_slices_of_an_older_generation_are_found(healthy: ClusterFacts) -> None:
    newer = slice_of("node-b", "b-01", generation=2)

    assert ids(healthy, slices=(*healthy.slices, newer)) == ["slices-of-old-generation/node-b"]


def test_slices_of_several_nodes_belong_to_no_node(healthy: ClusterFacts) -> None:
    shared = slice_of("multi-node/pair", "shared")
    del shared["spec"]["nodeName"]

    assert ids(healthy, slices=(*healthy.slices, shared)) == []


def tainted(time: str, key: str = "tangram.dev/gpu-health") -> Document:
    found = slice_of("node-b", "b-00")
    taint = {"key": key, "value": "xid-79", "effect": "NoExecute", "timeAdded": time}
    found["spec"]["devices"] = [
        {**found["spec"]["devices"][0], "name": one, "taints": [taint]} for one in "ba"
    ]
    return found


def test_a_taint_is_found_once_for_all_devices_when_it_is_older_than_asked(healthy: ClusterFacts) -> None:
    slices = (healthy.slices[0], tainted(LONG_AGO))

    (found,) = cluster_findings(replace(healthy, slices=slices))

    assert found.id == "taint-old/node-b/tangram.dev/gpu-health=xid-79:NoExecute"
    assert found.problem.endswith("on a, b")
    assert found.since == LONG_AGO
    assert ids(healthy, slices=slices, older_than_s=5 * 3600) == []


@pytest.mark.parametrize("taint", [tainted(JUST_NOW), tainted(LONG_AGO, "tangram.dev/allocator")])
def test_new_taints_and_the_mark_of_an_allocator_are_no_finding(
    healthy: ClusterFacts, taint: Document
) -> None:
    assert ids(healthy, slices=(healthy.slices[0], taint)) == []


def test_a_pod_that_waits_for_its_devices_is_found_with_the_newest_event(healthy: ClusterFacts) -> None:
    about = {"kind": "Pod", "uid": "uid-user"}
    events = tuple(
        {"reason": "FailedPrepareDynamicResources", "regarding": about, "eventTime": time, "note": note}
        for time, note in ((JUST_NOW, "GPU 0 is in use"), (LONG_AGO, "older"))
    )
    pods = (*healthy.pods[:2], user_pod())

    (found,) = cluster_findings(replace(healthy, pods=pods, events=events))

    assert found.id == "pod-waits-for-prepare/team/user"
    assert found.problem == "pod team/user waits on node node-a for claims team/c: GPU 0 is in use"


def test_without_an_event_the_claim_says_why_a_pod_waits(healthy: ClusterFacts) -> None:
    condition = {"type": "Ready", "status": "False", "message": "the GPU is lost"}
    told = claim()
    told["status"]["devices"] = [{"device": "gpu-0", "conditions": [condition]}]

    (found,) = cluster_findings(replace(healthy, pods=(*healthy.pods[:2], user_pod()), claims=(told,)))

    assert found.problem.endswith("team/c: gpu-0: the GPU is lost")


def test_a_pod_that_waits_for_its_image_is_not_ours(healthy: ClusterFacts) -> None:
    assert ids(healthy, pods=(*healthy.pods[:2], user_pod("ImagePullBackOff"))) == []


def test_a_node_with_the_label_and_without_a_pod_is_found(healthy: ClusterFacts) -> None:
    nodes = (*healthy.nodes, node("node-c"))

    assert ids(healthy, nodes=nodes) == ["node-without-pod/node-c"]


def test_a_pod_of_the_driver_that_is_not_ready_is_found_with_its_container(healthy: ClusterFacts) -> None:
    broken = copy.deepcopy(driver_pod("node-b"))
    waits = {"name": "agent", "ready": False, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    broken["status"]["containerStatuses"][0] = waits

    (found,) = cluster_findings(replace(healthy, pods=(healthy.pods[0], broken, healthy.pods[2])))

    assert found.id == "pod-not-ready/tangram-system/tangram-node-b"
    assert found.problem.endswith("agent is not ready (CrashLoopBackOff)")


def test_a_node_whose_driver_runs_and_publishes_nothing_is_found(healthy: ClusterFacts) -> None:
    assert ids(healthy, slices=healthy.slices[:1]) == ["node-without-slices/node-b"]


def test_a_type_of_device_without_a_class_is_found(healthy: ClusterFacts) -> None:
    assert ids(healthy, classes=()) == ["device-class-missing/gpu"]


def test_a_class_of_any_name_is_enough(healthy: ClusterFacts) -> None:
    assert ids(healthy, classes=({**gpu_class(), "metadata": meta("ours")},)) == []


@pytest.mark.parametrize("missing", POLICIES)
def test_each_policy_that_is_missing_is_found(healthy: ClusterFacts, missing: str) -> None:
    left = tuple(policy(one) for one in POLICIES if one != missing)

    assert ids(healthy, policies=left) == [f"policy-missing/{missing}"]


def test_policies_that_a_kustomization_renamed_count(healthy: ClusterFacts) -> None:
    policies = tuple(policy(f"us-{one}-x") for one in POLICIES)
    bindings = tuple(
        {**binding(one), "spec": {**binding(one)["spec"], "policyName": f"us-{one}-x"}} for one in POLICIES
    )

    assert ids(healthy, policies=policies, bindings=bindings) == []


def without_binding(facts: ClusterFacts) -> ClusterFacts:
    return replace(facts, bindings=(facts.bindings or ())[1:])


def auditing_only(facts: ClusterFacts) -> ClusterFacts:
    first, *rest = copy.deepcopy(facts.bindings or ())
    first["spec"]["validationActions"] = ["Audit"]  # type: ignore[index]
    return replace(facts, bindings=(first, *rest))


def about_nobody(facts: ClusterFacts) -> ClusterFacts:
    first, *rest = copy.deepcopy(facts.bindings or ())
    first["spec"]["paramRef"]["name"] = "nobody"  # type: ignore[index]
    return replace(facts, bindings=(first, *rest))


def about_another(facts: ClusterFacts) -> ClusterFacts:
    found = about_nobody(facts)
    return replace(found, accounts=(*(found.accounts or ()), {"metadata": meta("nobody", "tangram-system")}))


@pytest.mark.parametrize("spoil", [without_binding, auditing_only, about_nobody, about_another])
def test_a_policy_that_applies_to_nobody_is_found(
    healthy: ClusterFacts, spoil: Callable[[ClusterFacts], ClusterFacts]
) -> None:
    assert ids(spoil(healthy)) == [f"policy-without-effect/{POLICIES[0]}"]


def test_two_daemon_sets_of_one_driver_on_a_node_are_found(healthy: ClusterFacts) -> None:
    (found,) = cluster_findings(replace(healthy, pods=(*healthy.pods, driver_pod("node-b", "second"))))

    assert found.id == "two-daemon-sets/node-b"
    assert "tangram-system/second and tangram-system/tangram" in found.problem


def test_an_update_of_one_daemon_set_is_no_finding(healthy: ClusterFacts) -> None:
    next_one = driver_pod("node-b")
    next_one["metadata"] |= {"name": "next", "uid": "uid-next"}

    assert ids(healthy, pods=(*healthy.pods, next_one)) == []


def test_what_may_not_be_read_is_no_finding(healthy: ClusterFacts) -> None:
    kinds = ("classes", "policies", "bindings", "accounts", "multi_node_pools", "events")

    assert ids(healthy, **dict.fromkeys(kinds)) == []
