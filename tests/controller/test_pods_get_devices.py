"""Pods get their devices on one node, in the fewest writes, and kube-scheduler's refusals are heard."""

from __future__ import annotations

import json

from claims_at_server import DRIVER, claim, device_class, machine, node, pod
from claims_at_server.world import World

from controller.plan.plans import Release
from controller.run.ports import Why
from scheduler_core.model.claim import DeviceClass
from scheduler_core.model.ownership import AMOUNTS, CLAIM, CONDITION, GATE, TEMPLATES

_OTHER_GATE = {"name": "example.com/quota"}


def test_a_gated_pod_gets_its_claims_and_then_loses_the_gate(world: World) -> None:
    world.server.put("ResourceClaim", claim("one", "half"))
    world.server.put("ResourceClaim", claim("two", "half"))
    world.server.put("Pod", pod("p", "one", "two"))
    world.settle()
    assert world.node_of("one") == world.node_of("two") is not None
    assert not world.is_gated("p")
    assert world.server.writes[-1] == "gate"
    status = world.server.claim("one")["status"]
    assert [one["name"] for one in status["reservedFor"]] == ["p"]
    assert world.server.claim("one")["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]


def test_a_pod_without_a_gate_is_served_too(world: World) -> None:
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c", gated=False))
    world.settle()
    assert world.node_of("c") is not None
    assert "gate" not in world.server.writes


def test_devices_of_several_nodes_are_left_to_kube_scheduler(world: World) -> None:
    attributes = {"type": {"string": "multi-node-gpus"}}
    pool = {"name": "multi-node/gpus", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "allNodes": True, "pool": pool}
    devices = [{"name": "pair", "attributes": attributes}]
    slice_ = {"metadata": {"name": "several"}, "spec": {**spec, "devices": devices}}
    world.server.put("ResourceSlice", slice_)
    world.server.put("DeviceClass", device_class("multi-node-gpus"))
    world.server.put("ResourceClaim", claim("c", "multi-node-gpus"))
    world.server.put("Pod", pod("p", "c"))
    world.settle()
    assert world.node_of("c") is None
    assert world.is_gated("p")

    here = {**spec, "pool": {**pool, "name": "several"}, "devices": devices}
    world.server.put("ResourceSlice", {"metadata": {"name": "several"}, "spec": here})
    world.settle()
    assert world.server.claim("c")["status"]["allocation"]


def test_a_claim_of_a_template_is_made_in_three_writes(world: World) -> None:
    world.server.put("ResourceClaimTemplate", {**claim("t"), "spec": {"spec": claim("t")["spec"]}})
    world.settle()
    wanted = dict(pod("p", "p-c"))
    wanted["metadata"]["annotations"][TEMPLATES] = json.dumps({"p-c": "t"})
    world.server.put("Pod", wanted)
    world.settle()
    assert world.server.writes == ["create", "status", "gate"]
    owner = world.server.claim("p-c")["metadata"]["ownerReferences"][0]
    assert owner["uid"] == world.server.pods()["p"]["metadata"]["uid"]


def test_the_gate_of_somebody_else_comes_first(world: World) -> None:
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c", gated=False, schedulingGates=[{"name": GATE}, _OTHER_GATE]))
    world.settle()
    assert world.server.writes == []
    stored = world.server.pods()["p"]
    world.server.put("Pod", {**stored, "spec": {**stored["spec"], "schedulingGates": [{"name": GATE}]}})
    world.settle()
    assert world.node_of("c") is not None


def test_a_node_without_the_taint_is_left_alone(world: World) -> None:
    for name in ("node-a", "node-b"):
        for one in machine(name, taints=False):
            world.server.put("ResourceSlice", one)
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c"))
    world.settle()
    assert world.server.writes == []


def test_a_node_without_the_label_is_left_alone(world: World) -> None:
    world.server.put("Node", {**node("node-a"), "metadata": {"name": "node-a"}})
    for number in range(2):
        world.server.put("ResourceClaim", claim(f"c{number}", count=2))
        world.server.put("Pod", pod(f"p{number}", f"c{number}"))
    world.settle()
    assert [world.node_of("c0"), world.node_of("c1")] == ["node-b", None]


def test_cpu_counts_before_devices(world: World) -> None:
    world.server.put("Node", node("node-a", cpu="2"))
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c", cpu="4"))
    world.settle()
    assert world.node_of("c") == "node-b"


def test_a_pod_that_is_chosen_takes_its_room_before_it_is_bound(world: World) -> None:
    for name in ("node-a", "node-b"):
        world.server.put("Node", node(name, cpu="4"))
    for number in range(3):
        world.server.put("ResourceClaim", claim(f"c{number}", "half"))
        world.server.put("Pod", pod(f"p{number}", f"c{number}", cpu="3"))
    world.settle()
    assert sorted(str(world.node_of(f"c{number}")) for number in range(3)) == ["None", "node-a", "node-b"]


def test_a_node_from_which_devices_were_given_back_is_not_chosen_again(world: World) -> None:
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c"))
    world.settle()
    first = world.node_of("c")
    world.give_back("c")
    world.settle()
    assert {first, world.node_of("c")} == {"node-a", "node-b"}
    world.give_back("c")
    world.settle()
    assert world.node_of("c") is None


def test_a_node_that_changes_is_tried_again(world: World) -> None:
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c"))
    for _ in range(2):
        world.settle()
        world.give_back("c")
    world.settle()
    assert world.node_of("c") is None
    world.server.put("Node", node("node-a", role="other"))
    world.settle()
    assert world.node_of("c") == "node-a"


def test_devices_that_somebody_else_gave_twice_are_free_when_the_last_holder_is_gone(world: World) -> None:
    world.server.put("ResourceClaim", claim("one", count=2))
    world.server.put("Pod", pod("p", "one"))
    world.settle()
    allocation = world.server.claim("one")["status"]["allocation"]
    world.server.put("ResourceClaim", {**claim("double", count=2), "status": {"allocation": allocation}})
    world.give_back("one")
    world.server.drop("Pod", "p")
    for number in range(2):
        world.server.put("ResourceClaim", claim(f"new{number}", count=2))
        world.server.put("Pod", pod(f"new{number}", f"new{number}"))
    world.settle()
    assert [world.node_of(f"new{number}") for number in range(2)].count(None) == 1


def test_a_claim_is_released_when_its_last_pod_is_gone(world: World) -> None:
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c"))
    world.settle()
    world.bind("p", str(world.node_of("c")))
    world.settle()
    assert world.node_of("c") is not None
    world.server.drop("Pod", "p")
    world.settle()
    assert world.node_of("c") is None
    assert world.server.claim("c")["metadata"]["finalizers"] == []


def test_a_claim_that_another_pod_uses_is_kept(world: World) -> None:
    world.server.put("ResourceClaim", claim("c"))
    for name in ("p", "q"):
        world.server.put("Pod", pod(name, "c"))
    world.settle()
    stored = world.server.claim("c")
    pods = [
        {"resource": "pods", "name": one, "uid": world.server.pods()[one]["metadata"]["uid"]} for one in "pq"
    ]
    world.server.put("ResourceClaim", {**stored, "status": {**stored["status"], "reservedFor": pods}})
    world.settle()
    assert not world.is_gated("q")
    world.server.drop("Pod", "p")
    world.settle()
    assert world.node_of("c") is not None


def test_a_claim_that_is_reserved_for_something_else_than_pods_is_kept(world: World) -> None:
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c"))
    world.settle()
    stored = world.server.claim("c")
    groups = [
        *stored["status"]["reservedFor"],
        {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "uid": "g"},
    ]
    world.server.put("ResourceClaim", {**stored, "status": {**stored["status"], "reservedFor": groups}})
    world.server.drop("Pod", "p")
    world.settle()
    assert world.node_of("c") is not None


def test_nothing_is_written_while_another_replica_may_lead(world: World) -> None:
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c"))
    world.watch()
    (plan,) = world.plans()
    world.is_leading = False
    assert world.write(plan).failure is Why.NOT_LEADING
    assert world.server.writes == []
    world.is_leading = True
    world.settle()
    assert world.node_of("c") is not None


def test_an_outdated_write_is_decided_anew(world: World) -> None:
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c"))
    world.watch()
    (plan,) = world.plans()
    world.server.put("ResourceClaim", {**world.server.claim("c"), "status": {}})
    assert world.write(plan).failure is Why.OUTDATED
    world.settle()
    assert world.node_of("c") is not None


def test_a_pod_that_fits_nowhere_is_told_once_why(world: World) -> None:
    world.server.put("ResourceClaim", claim("c", count=3))
    world.server.put("Pod", pod("p", "c"))
    world.settle()
    assert not world.coordinator.explain(), "it may soon have its devices"
    world.pass_time(2)
    while world.coordinator.explain():
        pass
    (tell,) = world.coordinator.tells()
    world.write(tell)
    (condition,) = world.server.pods()["p"]["status"]["conditions"]
    assert (condition["type"], condition["status"]) == (CONDITION, "False")
    assert condition["message"] == (
        "0/2 nodes with devices are available: "
        "on 2 nodes (such as node-a) request r of claim default/c needs 3 devices, and only 2 match"
    )
    world.coordinator.wake()
    world.settle()
    while world.coordinator.explain():
        pass
    assert list(world.coordinator.tells()) == []


def test_a_pod_that_asks_for_too_many_of_a_class_is_told_of_which(world: World) -> None:
    selector = f'device.driver == "{DRIVER}"'
    found = DeviceClass(name="class.tangram.dev/big", selectors=(selector,))
    world.coordinator.take(world.coordinator.seen.set_class(found))
    asking = dict(pod("p", "p-devices"))
    asking["metadata"]["annotations"] = {AMOUNTS: '{"class.tangram.dev/big": "9"}', CLAIM: "p-devices"}
    world.server.put("Pod", asking)
    world.settle()
    world.pass_time(2)
    while world.coordinator.explain():
        pass
    (tell,) = world.coordinator.tells()
    world.write(tell)
    (condition,) = world.server.pods()["p"]["status"]["conditions"]
    message = condition["message"]
    assert "on 2 nodes (such as node-a) request class-big needs 9 devices, and only 6 match" in message


def test_what_is_allocated_and_not_used_is_taken_back(world: World) -> None:
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c"))
    world.settle()
    first = world.node_of("c")
    world.coordinator.standing.now += 301
    world.coordinator.tick()
    (release,) = world.coordinator.standing.plans
    assert isinstance(release, Release)
    world.settle()
    assert {first, world.node_of("c")} == {"node-a", "node-b"}


def test_a_pod_that_waits_long_gets_a_node_held_back(world: World) -> None:
    for name in ("a", "b"):
        world.server.put("ResourceClaim", claim(f"small-{name}", "half"))
        small = pod(f"small-{name}", f"small-{name}", nodeSelector={"x": "y"} if name == "b" else {})
        world.server.put("Pod", small)
    world.server.put("Node", node("node-b", x="y"))
    world.settle()
    assert {world.node_of("small-a"), world.node_of("small-b")} == {"node-a", "node-b"}
    world.server.put("ResourceClaim", claim("large", count=2))
    world.server.put("Pod", pod("large", "large"))
    world.settle()
    world.coordinator.standing.now += 301
    world.coordinator.wake()
    world.settle()
    assert len(world.coordinator.standing.held_back) == 1
    for number in range(6):
        world.server.put("ResourceClaim", claim(f"more-{number}", "half"))
        world.server.put("Pod", pod(f"more-{number}", f"more-{number}"))
    world.settle()
    placed = [world.node_of(f"more-{number}") for number in range(6)]
    assert placed.count(None) == 3, "three halves of one node are given, those of the other are held back"
    (held,) = {"node-a", "node-b"} - set(placed)
    small = next(name for name in ("small-a", "small-b") if world.node_of(name) == held)
    world.server.drop("Pod", small)
    world.settle()
    assert world.node_of("large") == held


def test_a_claim_that_only_other_drivers_can_serve_takes_nothing_from_the_pods_other_claims(
    world: World,
) -> None:
    world.server.put("DeviceClass", device_class("theirs"))
    world.server.put("ResourceClaim", claim("ours"))
    world.server.put("ResourceClaim", claim("theirs", "theirs"))
    world.server.put("Pod", pod("p", "ours", "theirs"))
    world.settle()
    assert world.node_of("ours") is not None
    assert not world.is_gated("p")
    world.coordinator.wake()
    world.settle()
    assert world.node_of("ours") is not None


def test_a_template_without_a_spec_harms_no_other_pod(world: World) -> None:
    world.server.put("ResourceClaimTemplate", {"metadata": {"name": "t"}})
    world.settle()
    broken = dict(pod("broken", "broken-c"))
    broken["metadata"]["annotations"][TEMPLATES] = json.dumps({"broken-c": "t"})
    world.server.put("Pod", broken)
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", pod("p", "c"))
    world.settle()
    assert world.node_of("c") is not None
