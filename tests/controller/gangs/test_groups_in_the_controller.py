"""Pods of a group get devices together or not at all."""

from __future__ import annotations

from claims_at_server import claim, device_class, pod
from claims_at_server.groups import add, grouped, nodes
from claims_at_server.world import World

from controller.run.values import Patience
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.model.ownership import GATE


def test_all_claims_are_written_before_the_first_gate_goes(world: World) -> None:
    add(world, "a", "b", "c", minimum=3)
    world.settle()
    assert None not in nodes(world, "a", "b", "c")
    writes = world.server.writes
    assert writes[-3:] == ["gate"] * 3
    assert "gate" not in writes[:-3]


def test_a_group_waits_for_its_minimum_and_says_so(world: World) -> None:
    add(world, "a", "b", minimum=3)
    world.settle()
    assert nodes(world, "a", "b") == [None, None]
    assert world.told("a") == "group default/training has 2 of the 3 members that it needs"
    add(world, "c", minimum=3)
    world.settle()
    assert None not in nodes(world, "a", "b", "c")


def test_a_group_that_does_not_fit_gets_nothing_and_is_told_why(world: World) -> None:
    add(world, "a", "b", "c", count=2, minimum=3)
    world.settle()
    assert nodes(world, "a", "b", "c") == [None] * 3
    assert world.server.writes == []
    expected = "group default/training: of 3 members 3 are needed, and so many do not fit at once"
    assert world.told("a") == world.told("c") == expected


def test_a_member_that_fits_nowhere_is_explained(world: World) -> None:
    add(world, "a")
    add(world, "b", count=3)
    world.settle()
    text = world.told("a")
    assert text.startswith("group default/training: of 2 members 2 are needed, and no node fits b. 0/2 nodes")
    assert "needs 3 devices, and only 2 match" in text


def test_as_many_as_fit_get_devices_at_least_the_minimum(world: World) -> None:
    add(world, "a", "b", "c", count=2, minimum=2)
    world.settle()
    assert sorted(map(str, nodes(world, "a", "b", "c"))) == ["None", "node-a", "node-b"]
    world.server.drop("Pod", next(name for name in "abc" if world.node_of(name)))
    world.settle()


def test_members_beyond_the_minimum_come_later_one_by_one(world: World) -> None:
    add(world, "a", "b")
    world.settle()
    add(world, "c")
    world.settle()
    assert world.node_of("c") is not None
    assert not world.is_gated("c")


def test_a_gang_of_4_that_only_fits_by_another_choice_of_devices_than_pod_after_pod() -> None:
    """First fit gives the first halves that come, and then no whole GPU is left for the others."""
    world = linked_world()
    assert in_turn(linked_world()) < 4
    for name, kind in zip("abcd", ("any", "any", "left", "left"), strict=True):
        add(world, name, kind=kind, minimum=4)
    world.settle()
    assert None not in nodes(world, *"abcd")
    assert not any(map(world.is_gated, "abcd"))
    assert len({one for name in "abcd" for one in world.devices_of(name)}) == 4


def linked_world() -> World:
    """A node of four GPUs; class left admits the first two, class any all of them."""
    world = World()
    for kind in ("gpu", "half"):
        world.server.put("DeviceClass", device_class(kind))
    expression = 'device.driver == "tangram.dev" && device.attributes["tangram.dev"].type == "gpu"'
    narrow = f'{expression} && device.attributes["tangram.dev"].gpu < 2'
    for name, text in (("any", expression), ("left", narrow)):
        selectors = [{"cel": {"expression": text}}]
        world.server.put("DeviceClass", {"metadata": {"name": name}, "spec": {"selectors": selectors}})
    world.add_nodes("node-a", gpus=4)
    world.watch()
    world.pass_time(0)
    world.pass_time(3)
    return world


def in_turn(world: World) -> int:
    """Return how many of the same pods get devices as single pods, first fit."""
    world.coordinator.allocator.engine = Engine(world.coordinator.seen.devices, FIRST_FIT)
    for name, kind in zip("abcd", ("any", "any", "left", "left"), strict=True):
        world.server.put("ResourceClaim", claim(name, kind))
        world.server.put("Pod", pod(name, name))
    world.settle()
    return 4 - [world.node_of(name) for name in "abcd"].count(None)


def test_room_beside_devices_counts_while_the_group_is_placed(world: World) -> None:
    add(world, "a", "b", "c", kind="half", cpu="40", minimum=3)
    world.settle()
    assert nodes(world, "a", "b", "c") == [None] * 3, "two nodes of 64 CPUs hold two such pods"


def test_a_claim_that_all_members_share_is_written_once(world: World) -> None:
    world.server.put("ResourceClaim", claim("shared", count=2))
    for name in ("a", "b"):
        one = grouped(pod(name, name))
        one["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "shared"}]
        world.server.put("Pod", one)
    world.settle()
    assert world.node_of("shared") is not None
    assert world.server.writes.count("status") == 1
    assert not world.is_gated("a")
    assert not world.is_gated("b")


def test_a_member_without_claims_loses_its_gate_with_the_others(world: World) -> None:
    launcher = grouped(pod("launcher"))
    world.server.put("Pod", launcher)
    world.settle()
    assert world.is_gated("launcher")
    add(world, "a")
    world.settle()
    assert not world.is_gated("launcher")


def test_members_that_say_different_things_are_told_so(world: World) -> None:
    add(world, "a", minimum=2)
    add(world, "b", minimum=1)
    world.settle()
    assert nodes(world, "a", "b") == [None, None]
    assert "pod a of its group default/training asks for at least 2 members" in world.told("a")


def test_a_foreign_gate_of_one_member_holds_the_group(world: World) -> None:
    add(world, "a")
    add(world, "b", schedulingGates=[{"name": GATE}, {"name": "example.com/quota"}])
    world.settle()
    assert nodes(world, "a", "b") == [None, None]


def test_the_place_of_a_group_is_that_of_its_first_member(world: World) -> None:
    add(world, "a", count=2, minimum=2)
    world.server.put("ResourceClaim", claim("single", count=2))
    world.server.put("Pod", pod("single", "single"))
    add(world, "b", count=2, minimum=2)
    world.settle()
    assert None not in nodes(world, "a", "b")
    assert world.node_of("single") is None


def test_groups_that_ask_for_the_same_are_tried_once_and_all_are_told(world: World) -> None:
    add(world, "a", "b", count=3, group="one")
    add(world, "c", "d", count=3, group="two")
    world.watch()
    assert world.plans() == []
    decided = world.coordinator.counts.refused
    assert decided == 4
    assert world.told("d").startswith("group default/")


def test_a_gate_goes_after_a_time_so_that_autoscalers_see_the_pods(world: World) -> None:
    world.patience = Patience(let_go_s=60)
    world.restart()
    add(world, "a", "b", count=3)
    world.settle()
    world.pass_time(61)
    world.settle()
    assert not world.is_gated("a")
    assert not world.is_gated("b")
