"""PodGroups: what they ask for, whenever they come, change and go."""

from __future__ import annotations

from claims_at_server import claim, pod
from claims_at_server.groups import nodes
from claims_at_server.world import World

POD_GROUP = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "training"},
    "spec": {"minMember": 2},
}


def labelled(world: World, *names: str) -> None:
    """Create members of the PodGroup of scheduler-plugins, each with a claim."""
    for name in names:
        world.server.put("ResourceClaim", claim(name))
        one = dict(pod(name, name))
        one["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "training"}
        world.server.put("Pod", one)


def with_minimum(minimum: int) -> dict[str, object]:
    return {**POD_GROUP, "spec": {"minMember": minimum}}


def test_members_wait_for_their_pod_group_and_are_told_so(world: World) -> None:
    labelled(world, "a", "b")
    world.settle()
    assert world.told("a") == "PodGroup of scheduling.x-k8s.io default/training does not exist"
    world.server.put("PodGroup", POD_GROUP)
    world.settle()
    assert None not in nodes(world, "a", "b")


def test_a_pod_group_that_asks_for_less_by_now_lets_its_members_go(world: World) -> None:
    world.server.put("PodGroup", with_minimum(3))
    labelled(world, "a", "b")
    world.settle()
    assert nodes(world, "a", "b") == [None, None]
    world.server.put("PodGroup", with_minimum(2))
    world.settle()
    assert None not in nodes(world, "a", "b")


def test_members_whose_pod_group_goes_are_not_asked_about_any_more(world: World) -> None:
    world.server.put("PodGroup", with_minimum(3))
    labelled(world, "a", "b")
    world.settle()
    world.server.drop("PodGroup", "training")
    labelled(world, "c")
    world.settle()
    assert nodes(world, "a", "b", "c") == [None] * 3
    assert "does not exist" in world.told("a")


def test_members_keep_the_devices_that_they_have_when_their_pod_group_goes(world: World) -> None:
    world.server.put("PodGroup", POD_GROUP)
    labelled(world, "a", "b")
    world.settle()
    world.server.drop("PodGroup", "training")
    world.settle()
    assert None not in nodes(world, "a", "b")


def test_a_pod_group_that_is_wrong_is_told_to_its_members(world: World) -> None:
    world.server.put("PodGroup", with_minimum(0))
    labelled(world, "a")
    world.settle()
    assert "minMember" in world.told("a")


def test_pods_of_a_basic_pod_group_are_served_one_by_one(world: World) -> None:
    basic = {**POD_GROUP, "apiVersion": "scheduling.k8s.io/v1beta1"}
    world.server.put("PodGroup", {**basic, "spec": {"schedulingPolicy": {"basic": {}}}})
    world.server.put("ResourceClaim", claim("a"))
    world.server.put("Pod", pod("a", "a", schedulingGroup={"podGroupName": "training"}))
    world.settle()
    assert world.node_of("a") is not None
