"""Groups that lose members, or whose writes fail, hold no part in vain."""

from __future__ import annotations

from claims_at_server import claim
from claims_at_server.groups import add, nodes
from claims_at_server.world import World

from controller.plan.plans import GroupPlacement
from controller.run.ports import Why


def test_a_group_that_half_disappeared_gives_everything_back(world: World) -> None:
    add(world, "a", "b", "c", minimum=3)
    world.settle()
    world.server.drop("Pod", "b")
    world.settle()
    assert nodes(world, "a", "b", "c") == [None] * 3
    add(world, "d", minimum=3)
    world.settle()
    assert None not in nodes(world, "a", "c", "d")
    assert world.coordinator.counts.taken_back == 0


def test_bound_members_keep_their_devices_when_others_disappear(world: World) -> None:
    add(world, "a", "b", "c", minimum=3)
    world.settle()
    world.bind("a", str(world.node_of("a")))
    world.server.drop("Pod", "b")
    world.settle()
    assert world.node_of("a") is not None
    assert world.node_of("c") is None


def test_a_member_that_is_bound_at_the_server_keeps_its_devices_although_no_watch_says_so(
    world: World,
) -> None:
    add(world, "a", "b")
    world.settle()
    world.server.drop("Pod", "b")
    world.watch()
    world.plans()
    world.bind("a", str(world.node_of("a")))
    world.server.changes.clear()
    for plan in world.coordinator.standing.plans:
        world.writer.carry_out(plan)
    assert world.node_of("a") is not None


def test_what_was_written_before_a_failure_is_given_back_where_the_rest_does_not_fit(world: World) -> None:
    add(world, "a", "b", count=2)
    world.watch()
    (plan,) = world.plans()
    assert isinstance(plan, GroupPlacement)
    failures = [None, None, (Why.UNKNOWN, False)]
    world.server.failing = lambda: failures.pop(0) if failures else None
    assert world.write(plan).failure is Why.UNKNOWN
    assert [one is None for one in nodes(world, "a", "b")] == [False, True]
    world.server.put("ResourceClaim", claim("other", count=2))
    first = world.node_of("a")
    free = "node-b" if first == "node-a" else "node-a"
    world.server.put("Node", {"metadata": {"name": free}, "status": {}})
    world.settle()
    assert nodes(world, "a", "b") == [None, None]
    assert world.is_gated("a")


def test_after_a_failure_the_group_is_finished_where_it_fits(world: World) -> None:
    add(world, "a", "b", count=2)
    world.watch()
    (plan,) = world.plans()
    failures = [None, None, (Why.UNKNOWN, False)]
    world.server.failing = lambda: failures.pop(0) if failures else None
    world.write(plan)
    world.restart()
    world.settle()
    assert None not in nodes(world, "a", "b")
    assert not world.is_gated("a")
    assert not world.is_gated("b")


def test_a_new_leader_that_knows_only_some_pods_yet_gives_nothing_back(world: World) -> None:
    add(world, "a", "b", "c", minimum=3)
    world.settle()
    world.restart()
    assert world.coordinator.standing.plans == []
    world.settle()
    assert None not in nodes(world, "a", "b", "c")


def test_a_refused_member_is_tried_on_another_node_and_the_others_stay(world: World) -> None:
    add(world, "a", "b", kind="half", count=2)
    world.watch()
    (plan,) = world.plans()
    assert isinstance(plan, GroupPlacement)
    world.server.failing = lambda: (Why.REFUSED, False)
    world.write(plan)
    world.server.failing = lambda: None
    first = plan.members[0]
    assert list(world.coordinator.standing.against) == [first.pod.uid]
    world.settle()
    assert world.node_of(first.pod.ref.name) not in (None, first.node)


def test_a_group_that_waits_too_long_gives_back_and_rests(world: World) -> None:
    add(world, "a", "b", waiting="60s")
    world.settle()
    assert None not in nodes(world, "a", "b")
    world.coordinator.standing.now += 61
    world.settle()
    assert nodes(world, "a", "b") == [None, None]
    world.coordinator.standing.now += 59
    world.settle()
    assert nodes(world, "a", "b") == [None, None]
    world.coordinator.standing.now += 2
    world.settle()
    assert None not in nodes(world, "a", "b")


def test_a_member_whose_devices_were_taken_away_gets_others_beside_the_group(world: World) -> None:
    add(world, "a", "b", kind="half")
    world.settle()
    first = world.node_of("a")
    world.give_back("a")
    world.settle()
    assert world.node_of("a") not in (None, first)
    assert world.node_of("b") == first
