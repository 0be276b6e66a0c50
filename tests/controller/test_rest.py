"""Nothing is decided, told or written again while nothing has changed that counts."""

from __future__ import annotations

from claims_at_server import claim, node, pod
from claims_at_server.world import World

from controller.plan.plans import Tell
from controller.run.ports import Why


def told(world: World) -> list[str]:
    """Carry out what is to be told, as the loop does; return it."""
    found = []
    world.pass_time(2)
    while True:
        while world.coordinator.explain():
            pass
        plans = list(world.coordinator.tells())
        if not plans:
            return found
        for plan in plans:
            assert isinstance(plan, Tell)
            found.append(plan.message)
            world.write(plan)


def ask(world: World, name: str, count: int) -> None:
    world.server.put("ResourceClaim", claim(name, count=count))
    world.server.put("Pod", pod(name, name))


def test_each_pod_that_fits_nowhere_is_told_once(world: World) -> None:
    for number in range(50):
        ask(world, f"p{number}", count=3 + number % 4)
    world.settle()
    assert len(told(world)) == 50
    for _ in range(200):
        world.pass_time(1)
        assert world.coordinator.decide() is None
        assert told(world) == []


def test_what_a_pod_is_told_makes_nobody_decide_about_it_again(world: World) -> None:
    ask(world, "p", count=3)
    world.settle()
    assert len(told(world)) == 1
    world.watch()
    assert not world.coordinator.is_woken
    assert world.coordinator.decide() is None


def test_the_heartbeat_of_a_node_wakes_nobody(world: World) -> None:
    ask(world, "p", count=3)
    world.settle()
    beating = dict(node("node-a"))
    beating["status"] = {**beating["status"], "conditions": [{"type": "Ready", "lastHeartbeatTime": "now"}]}
    world.server.put("Node", beating)
    world.watch()
    assert not world.coordinator.is_woken
    world.server.put("Node", node("node-a", cpu="65"))
    world.watch()
    assert world.coordinator.is_woken


def test_nobody_is_told_that_nodes_settle_at_the_start(world: World) -> None:
    ask(world, "p", count=3)
    world.restart()
    world.coordinator.allocator.seen.owned.settle(0.0, 3.0)
    world.settle()
    assert all("a moment ago" not in text for text in told(world))


def test_a_claim_that_comes_after_its_pod_takes_the_message_back(world: World) -> None:
    world.server.put("Pod", pod("p", "c"))
    world.settle()
    world.server.put("ResourceClaim", claim("c", count=3))
    world.settle()
    assert list(world.coordinator.tells()) == []
    assert len(told(world)) == 1


def test_a_reason_that_changes_soon_after_another_is_told_later(world: World) -> None:
    ask(world, "p", count=3)
    world.settle()
    (first,) = told(world)
    world.server.drop("Node", "node-b")
    for part in range(2):
        world.server.drop("ResourceSlice", f"node-b-{part}")
    world.settle()
    assert told(world) == []
    world.pass_time(60)
    (second,) = told(world)
    assert second != first


def test_a_pod_that_could_not_be_told_is_told_later(world: World) -> None:
    ask(world, "p", count=3)
    world.settle()
    world.pass_time(2)
    while world.coordinator.explain():
        pass
    (plan,) = world.coordinator.tells()
    assert isinstance(plan, Tell)
    world.coordinator.untold(plan)
    world.pass_time(60)
    assert told(world) == [plan.message]


def test_a_pod_whose_write_always_fails_is_tried_ever_more_rarely(world: World) -> None:
    ask(world, "p", count=1)
    world.server.failing = lambda: (Why.OUTDATED, False)
    for _ in range(600):
        world.settle()
        world.pass_time(1)
    assert 5 < len(world.server.writes) < 20
    world.server.failing = lambda: None
    world.pass_time(60)
    world.settle()
    assert not world.is_gated("p")
