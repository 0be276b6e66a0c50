"""Who is told and when; whose unused devices are taken back; for whom a node is held back."""

from __future__ import annotations

from claims_at_server import claim, pod
from claims_at_server.world import World

from controller.model.pods import Pod, PodRef
from controller.queue.waiting_line import Order
from controller.run.coordinator import Patience
from controller.run.telling import Telling


def waiting(uid: str = "u", told: str | None = None) -> dict[str, Pod]:
    return {uid: Pod(ref=PodRef("default", f"pod-{uid}"), uid=uid, told=told)}


def test_a_pod_is_told_once() -> None:
    telling, pods = Telling(), waiting()
    telling.put("u", "no room")
    (tell,) = telling.due(pods, 0.0, 20)
    assert (tell.pod, tell.uid, tell.message) == (PodRef("default", "pod-u"), "u", "no room")
    assert list(telling.due(pods, 1000.0, 20)) == []


def test_what_a_pod_says_already_is_not_told_again() -> None:
    telling = Telling()
    telling.put("u", "no room")
    assert list(telling.due(waiting(told="no room"), 0.0, 20)) == []


def test_another_reason_waits_for_a_minute_and_the_last_one_counts() -> None:
    telling, pods = Telling(), waiting()
    telling.put("u", "one")
    assert len(list(telling.due(pods, 0.0, 20))) == 1
    telling.put("u", "two")
    telling.put("u", "three")
    assert list(telling.due(pods, 59.9, 20)) == []
    assert [tell.message for tell in telling.due(pods, 60.0, 20)] == ["three"]


def test_no_more_are_told_at_once_than_asked_for_and_nobody_is_forgotten() -> None:
    telling, pods = Telling(), {f"u{number}": waiting(f"u{number}")[f"u{number}"] for number in range(5)}
    for uid in pods:
        telling.put(uid, "no room")
    told = [[tell.uid for tell in telling.due(pods, 0.0, 2)] for _ in range(3)]
    assert told == [["u0", "u1"], ["u2", "u3"], ["u4"]]


def test_a_pod_that_is_gone_is_told_nothing() -> None:
    telling = Telling()
    telling.put("u", "no room")
    assert list(telling.due({}, 0.0, 20)) == []
    assert list(telling.due(waiting(), 0.0, 20)) == []


def allocated(world: World, name: str, *users: str) -> None:
    """Make a claim that has devices, and pods without a node that use it."""
    world.server.put("ResourceClaim", claim(name))
    for user in users or (name,):
        world.server.put("Pod", pod(user, name))
    world.settle()


def releases(world: World, after_s: float) -> list[str]:
    world.coordinator.standing.now += after_s
    world.coordinator.tick()
    found = [str(one.claim) for one in world.coordinator.standing.plans]  # type: ignore[union-attr]
    world.coordinator.standing.plans = []
    return found


def test_unused_devices_are_taken_back_after_the_time(world: World) -> None:
    allocated(world, "p")
    assert releases(world, 299) == []
    assert releases(world, 1) == ["default/p"]


def test_devices_whose_release_failed_are_taken_back_after_the_same_time_again(world: World) -> None:
    allocated(world, "p")
    assert releases(world, 300) == ["default/p"]
    assert releases(world, 299) == []
    assert releases(world, 1) == ["default/p"]


def test_a_pod_that_is_bound_at_the_server_keeps_its_devices_although_no_watch_says_so(world: World) -> None:
    allocated(world, "p")
    world.bind("p", str(world.node_of("p")))
    world.server.changes.clear()
    world.pass_time(300)
    (release,) = world.coordinator.standing.plans
    assert world.writer.carry_out(release).failure is None
    assert world.node_of("p") is not None


def test_devices_of_a_pod_that_is_bound_are_kept(world: World) -> None:
    allocated(world, "p")
    world.bind("p", str(world.node_of("p")))
    world.watch()
    assert releases(world, 1000) == []


def test_devices_that_another_pod_is_reserved_for_are_kept(world: World) -> None:
    allocated(world, "c", "p")
    stored = world.server.claim("c")
    other = {"resource": "pods", "name": "q", "uid": "another"}
    status = {**stored["status"], "reservedFor": [*stored["status"]["reservedFor"], other]}
    world.server.put("ResourceClaim", {**stored, "status": status})
    world.watch()
    assert releases(world, 1000) == []


def test_a_pod_with_a_gate_of_others_keeps_its_devices(world: World) -> None:
    allocated(world, "p")
    stored = world.server.pods()["p"]
    gates = {**stored["spec"], "schedulingGates": [{"name": "example.com/quota"}]}
    world.server.put("Pod", {**stored, "spec": gates})
    world.watch()
    assert releases(world, 1000) == []


def full(count: int = 1) -> World:
    """Two nodes with half a GPU in use on each, and pods that wait for both GPUs of a node."""
    world = World(Patience())
    from claims_at_server import device_class, node  # noqa: PLC0415

    for kind in ("gpu", "half"):
        world.server.put("DeviceClass", device_class(kind))
    world.add_nodes("node-a", "node-b")
    for name in ("node-a", "node-b"):
        world.server.put("Node", node(name, on=name))
        world.server.put("ResourceClaim", claim(f"small-{name}", "half"))
        small = pod(f"small-{name}", f"small-{name}", nodeSelector={"on": name})
        world.server.put("Pod", small)
    world.watch()
    world.pass_time(0)
    world.pass_time(3)
    world.settle()
    for number in range(count):
        world.server.put("ResourceClaim", claim(f"large-{number}", count=2))
        world.server.put("Pod", pod(f"large-{number}", f"large-{number}"))
    world.settle()
    return world


def wait(world: World, seconds: float) -> None:
    world.coordinator.standing.now += seconds
    world.coordinator.wake()
    world.settle()


def test_a_node_is_held_back_after_the_time_and_not_before() -> None:
    world = full()
    wait(world, 299)
    assert len(world.coordinator.standing.held_back) == 0
    wait(world, 1)
    assert len(world.coordinator.standing.held_back) == 1


def test_pods_that_ask_for_the_same_have_one_node_together() -> None:
    world = full(count=3)
    wait(world, 301)
    wait(world, 1)
    assert len(world.coordinator.standing.held_back) == 1


def test_pods_before_it_in_the_line_may_use_the_node() -> None:
    world = full()
    wait(world, 301)
    before, behind = Order.of(1, "", ""), Order.of(-1, "", "")
    assert world.coordinator.standing.held_back.nodes(before) == frozenset()
    assert len(world.coordinator.standing.held_back.nodes(behind)) == 1


def test_the_node_is_free_again_when_the_pod_is_gone() -> None:
    world = full()
    wait(world, 301)
    world.server.drop("Pod", "large-0")
    world.watch()
    assert len(world.coordinator.standing.held_back) == 0


def test_no_node_is_held_back_for_a_pod_that_fits_on_no_empty_node() -> None:
    world = full(count=0)
    world.server.put("ResourceClaim", claim("huge", count=3))
    world.server.put("Pod", pod("huge", "huge"))
    world.settle()
    wait(world, 301)
    assert len(world.coordinator.standing.held_back) == 0
