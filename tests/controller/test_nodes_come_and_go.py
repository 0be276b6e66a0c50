"""Nodes are renamed, emptied, given away: pods that run keep their devices, others go elsewhere or wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from claims_at_server import DRIVER, claim, machine, node, pod
from claims_at_server.world import World


def ask(world: World, name: str, *claims: str, count: int = 1) -> None:
    for one in claims or (name,):
        world.server.put("ResourceClaim", claim(one, count=count))
    world.server.put("Pod", pod(name, *(claims or (name,))))


def run_on(world: World, name: str, count: int = 1) -> str:
    """Let a pod get devices and run; return its node."""
    ask(world, name, count=count)
    world.settle()
    found = world.node_of(name)
    assert found is not None
    world.bind(name, found)
    world.settle()
    return found


def empty(world: World, name: str) -> None:
    """Take the slices of a node away."""
    for part in range(2):
        world.server.drop("ResourceSlice", f"{name}-{part}")


def fill(world: World, name: str, *, taints: bool = True) -> None:
    for one in machine(name, taints=taints):
        world.server.put("ResourceSlice", one)


def remove(world: World, name: str) -> None:
    world.server.drop("Node", name)
    empty(world, name)


def hand_over(world: World, name: str) -> None:
    """Give the devices of a node to kube-scheduler, as the label and then the agent do."""
    world.server.put("Node", {**node(name), "metadata": {"name": name}})
    fill(world, name, taints=False)


def take_back(world: World, name: str) -> None:
    world.server.put("Node", node(name))
    fill(world, name)


def settle(world: World) -> None:
    """Let everything happen, also what needs time."""
    world.settle()
    world.pass_time(0)
    world.pass_time(3)
    world.settle()


def test_where_a_node_is_renamed_pods_that_run_keep_their_devices_and_others_get_those_of_the_new_name(
    world: World,
) -> None:
    first = run_on(world, "first", count=2)
    second = run_on(world, "second", count=2)
    ask(world, "waits", count=2)
    settle(world)
    assert world.node_of("waits") is None

    remove(world, second)
    world.add_nodes("node-c")
    settle(world)

    assert world.node_of("waits") == "node-c"
    assert (world.node_of("first"), world.node_of("second")) == (first, second)
    world.server.drop("Pod", "first")
    settle(world)
    assert world.node_of("first") is None


@pytest.mark.parametrize("goes", [remove, empty, hand_over])
def test_a_pod_of_which_a_part_has_devices_gets_all_of_them_elsewhere_when_the_node_is_lost(
    world: World, goes: Callable[[World, str], None]
) -> None:
    ask(world, "p", "one", "two")
    (part,) = [{"request": "r", "driver": DRIVER, "pool": "node-a", "device": "gpu-0"}]
    fields = [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]
    allocation = {
        "devices": {"results": [part]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]},
    }
    uid = world.server.pods()["p"]["metadata"]["uid"]
    consumer = {"resource": "pods", "name": "p", "uid": uid}
    status = {"allocation": allocation, "reservedFor": [consumer]}  # the leader ended between two claims
    world.server.put("ResourceClaim", {**world.server.claim("one"), "status": status})
    goes(world, "node-a")
    settle(world)
    assert (world.node_of("one"), world.node_of("two")) == ("node-b", "node-b")
    assert not world.is_gated("p")


def test_a_node_without_slices_gives_nothing_and_with_them_again_what_was_free(world: World) -> None:
    holder = run_on(world, "holder")
    empty(world, holder)
    for number in range(4):
        ask(world, f"p{number}")
    settle(world)
    placed = [world.node_of(f"p{number}") for number in range(4)]
    assert holder not in placed
    assert placed.count(None) == 2
    assert world.node_of("holder") == holder
    (waiting, *_) = [f"p{number}" for number in range(4) if placed[number] is None]
    assert world.told(waiting).startswith("0/1 nodes with devices are available: on node ")

    fill(world, holder)
    settle(world)
    placed = [world.node_of(f"p{number}") for number in range(4)]
    assert placed.count(None) == 1
    given = [one for name in ("holder", "p0", "p1", "p2", "p3") for one in world.devices_of(name)]
    assert len(given) == len(set(given)) == 4


def test_a_node_that_goes_to_kube_scheduler_and_comes_back_serves_again_after_a_time(world: World) -> None:
    holder = run_on(world, "holder")
    hand_over(world, holder)
    settle(world)
    ask(world, "large", count=2)
    ask(world, "p")
    settle(world)
    assert world.node_of("large") not in (None, holder)
    assert world.node_of("p") is None
    assert world.told("p").endswith("1 node left the devices to kube-scheduler")
    assert world.node_of("holder") == holder

    take_back(world, holder)
    world.settle()
    assert world.node_of("p") is None, "kube-scheduler may still write what it decided before"
    settle(world)
    assert world.node_of("p") == holder
    assert world.devices_of("p") != world.devices_of("holder")
    assert not world.is_gated("p")


def test_a_pod_is_told_when_the_node_it_waited_for_is_gone(world: World) -> None:
    run_on(world, "first", count=2)
    second = run_on(world, "second", count=2)
    ask(world, "p", count=2)
    settle(world)
    before = world.told("p")
    world.server.drop("Node", second)
    settle(world)
    after = world.told("p")
    assert "needs 2 devices, and" in before
    assert "1 node had devices but no Node object" in after


def test_a_pod_that_got_devices_on_a_node_that_is_deleted_before_it_is_bound_gets_others(
    world: World,
) -> None:
    ask(world, "p")
    world.settle()
    first = world.node_of("p")
    assert first is not None
    remove(world, first)
    settle(world)
    assert world.node_of("p") == first, "only kube-scheduler knows whether it bound the pod meanwhile"
    world.give_back("p")
    settle(world)
    assert world.node_of("p") not in (None, first)
