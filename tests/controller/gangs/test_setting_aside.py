"""A group whose writes fail again and again, or about which nothing can be decided, rests ever longer."""

from __future__ import annotations

from claims_at_server.groups import add, nodes
from claims_at_server.world import World

from controller.plan.plans import GroupPlacement
from controller.run.ports import Why
from controller.run.set_aside import SetAside


def test_a_group_whose_write_always_fails_is_tried_ever_more_rarely(world: World) -> None:
    add(world, "a", "b")
    world.server.failing = lambda: (Why.OUTDATED, False)
    for _ in range(600):
        world.settle()
        world.pass_time(1)
    assert 5 < len(world.server.writes) < 20
    world.server.failing = lambda: None
    world.pass_time(60)
    world.settle()
    assert None not in nodes(world, "a", "b")


def test_the_first_failure_in_a_row_costs_a_group_nothing(world: World) -> None:
    add(world, "a", "b")
    world.watch()
    (plan,) = world.plans()
    world.server.failing = lambda: (Why.OUTDATED, False)
    world.write(plan)
    world.server.failing = lambda: None
    world.settle()
    assert None not in nodes(world, "a", "b")


def test_a_group_that_rests_still_gives_back_what_it_holds_in_vain(world: World) -> None:
    add(world, "a", "b")
    failures = [None, None, (Why.UNKNOWN, False)] + 3 * [(Why.UNKNOWN, False)]
    world.server.failing = lambda: failures.pop(0) if failures else None
    for _ in range(2):
        world.watch()
        for plan in world.plans():
            world.write(plan)
    assert len(world.coordinator.standing.aside) > 0
    assert nodes(world, "a", "b").count(None) == 1
    failures.clear()
    world.server.drop("Pod", "b" if world.node_of("b") is None else "a")
    world.settle()
    assert nodes(world, "a", "b") == [None, None]


def test_a_group_that_rests_keeps_no_other_group_from_its_devices(world: World) -> None:
    add(world, "a", "b", count=2)
    world.server.failing = lambda: (Why.OUTDATED, False)
    world.settle()
    assert len(world.coordinator.standing.aside) == 2
    world.server.failing = lambda: None
    add(world, "c", "d", count=2, group="other")
    world.settle()
    assert nodes(world, "a", "b") == [None, None]
    assert None not in nodes(world, "c", "d")


def test_a_group_that_rests_is_tried_again_though_only_some_of_its_members_failed(world: World) -> None:
    add(world, "a", "b", minimum=2)
    world.server.failing = lambda: (Why.OUTDATED, False)
    world.settle()
    world.server.failing = lambda: None
    add(world, "c", minimum=2)
    world.settle()
    assert nodes(world, "a", "b", "c") == [None] * 3
    world.pass_time(1)
    world.settle()
    assert None not in nodes(world, "a", "b", "c")


def test_a_group_about_which_nothing_can_be_decided_is_set_aside_told_and_tried_again(world: World) -> None:
    add(world, "a", "b")
    world.watch()
    assert world.coordinator.decide() is not None
    world.restart()
    for look in world.coordinator.standing.groups.looks(0.0, frozenset(), SetAside(), {}):
        if look.entry is not None:
            world.coordinator.standing.line.put(look.entry)
    entry = world.coordinator.standing.line.next()
    assert entry is not None
    world.coordinator.failed(entry, ZeroDivisionError("made up"))
    assert world.coordinator.decide() is None
    assert "an unexpected error" in world.told("a")
    assert "an unexpected error" in world.told("b")
    world.pass_time(1)
    world.settle()
    assert None not in nodes(world, "a", "b")


def test_members_that_are_served_forget_their_failures(world: World) -> None:
    add(world, "a", "b")
    failing = iter([True, True, False])
    for _ in range(3):
        world.watch()
        (plan,) = world.plans()
        assert isinstance(plan, GroupPlacement)
        is_failing = next(failing)
        world.server.failing = (lambda: (Why.OUTDATED, False)) if is_failing else (lambda: None)
        world.write(plan)
        world.pass_time(1)
    world.give_back("a")
    world.server.failing = lambda: (Why.OUTDATED, False)
    world.watch()
    (again,) = world.plans()
    world.write(again)
    assert len(world.coordinator.standing.aside) == 0
