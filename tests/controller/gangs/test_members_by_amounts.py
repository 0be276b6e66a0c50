"""Groups with members that ask by amounts: placed one after another on trial, all that are needed or none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from claims_at_server import DRIVER, claim, device_class, pod
from claims_at_server.groups import grouped
from claims_at_server.world import World
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decide.question import Question, question_of
from controller.run.groups.trial import in_turn
from scheduler_core.model.claim import DeviceClass
from scheduler_core.model.nodes import Node
from scheduler_core.model.ownership import AMOUNTS, CLAIM

NODES = ("node-a", "node-b")
asks = st.tuples(
    st.booleans(), st.sampled_from(("gpu", "half")), st.integers(1, 2), st.sampled_from(("10", "40"))
)
"""By amounts or with a claim, of which kind, how many, and how many CPUs beside them."""
groups = st.lists(asks, min_size=1, max_size=6).filter(lambda members: any(one[0] for one in members))
holders = st.lists(st.tuples(st.sampled_from(("gpu", "half")), st.integers(1, 2)), max_size=3)


def world_with(held: list[tuple[str, int]] = []) -> World:  # noqa: B006 - it is only read
    """Two nodes of two GPUs, resource classes of whole and half GPUs, and claims that hold some of them."""
    world = World()
    for kind in ("gpu", "half"):
        world.server.put("DeviceClass", device_class(kind))
        text = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "{kind}"'
        found = DeviceClass(name=f"class.tangram.dev/{kind}", selectors=(text,))
        world.coordinator.take(world.coordinator.seen.set_class(found))
    world.add_nodes(*NODES)
    world.watch()
    world.pass_time(0)
    world.pass_time(3)
    for number, (kind, count) in enumerate(held):
        world.server.put("ResourceClaim", claim(f"held-{number}", kind, count))
        world.server.put("Pod", pod(f"held-{number}", f"held-{number}"))
    world.settle()
    return world


def member(world: World, name: str, ask: tuple[bool, str, int, str]) -> dict[str, Any]:
    """Return a pod that asks; its claim is there where it does not ask by amounts."""
    is_by_amounts, kind, count, cpu = ask
    if not is_by_amounts:
        world.server.put("ResourceClaim", claim(name, kind, count))
    found = dict(pod(name, name, cpu=cpu))
    if is_by_amounts:
        amounts = json.dumps({f"class.tangram.dev/{kind}": str(count)})
        found["metadata"] = {**found["metadata"], "annotations": {AMOUNTS: amounts, CLAIM: name}}
    return found


def devices(world: World, count: int) -> dict[str, list[str]]:
    """Return the devices of the members that have some."""
    claims = world.server.objects.get("ResourceClaim", {})
    names = [f"m{number}" for number in range(count) if f"m{number}" in claims]
    return {name: found for name in names if (found := world.devices_of(name))}


@settings(max_examples=40)
@given(asked=groups, held=holders, share=st.floats(0, 1))
def test_a_group_gets_what_its_pods_would_get_one_after_another_or_nothing(
    asked: list[tuple[bool, str, int, str]], held: list[tuple[str, int]], share: float
) -> None:
    minimum = 1 + round(share * (len(asked) - 1))
    together, singly = world_with(held), world_with(held)
    for number, ask in enumerate(asked):
        together.server.put("Pod", grouped(member(together, f"m{number}", ask), minimum))
        singly.server.put("Pod", member(singly, f"m{number}", ask))
    for world in (together, singly):
        world.settle()
    expected = devices(singly, len(asked))
    given_ = devices(together, len(asked))
    assert given_ == (expected if len(expected) >= minimum else {})
    gated = {name for name in together.server.pods() if together.is_gated(name) and name.startswith("m")}
    assert gated == {f"m{number}" for number in range(len(asked))} - set(given_)


def questions(world: World, asked: list[tuple[bool, str, int, str]]) -> list[Question]:
    """Return the questions of pods that nobody has decided about."""
    for number, ask in enumerate(asked):
        world.server.put("Pod", member(world, f"m{number}", ask))
    world.watch()
    seen = world.coordinator.seen
    found = [question_of(one, seen) for one in seen.waiting.values() if one.ref.name.startswith("m")]
    return [one for one in found if isinstance(one, Question)]


def state(world: World) -> list[object]:
    """Return what is held of devices and of room on each node."""
    seen = world.coordinator.seen
    return [(seen.devices.seen_from(Node(name)), seen.rooms.free(name)) for name in NODES]


@settings(max_examples=40)
@given(asked=groups, held=holders, minimum=st.integers(0, 6))
def test_the_trial_holds_nothing_afterwards_whether_or_not_it_went_well(
    asked: list[tuple[bool, str, int, str]], held: list[tuple[str, int]], minimum: int
) -> None:
    world = world_with(held)
    mine = questions(world, asked)
    before = state(world)
    found = in_turn(world.coordinator.allocator, mine, minimum, {}, frozenset())
    assert state(world) == before
    assert isinstance(found, str) or len(found) >= minimum


def test_an_error_in_the_middle_of_a_trial_leaves_nothing_held(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with()
    mine = questions(world, [(True, "gpu", 1, "10"), (True, "half", 1, "10")])
    before, allocator = state(world), world.coordinator.allocator
    decide = allocator.decide

    def failing(question: Question, *rest: Any) -> Any:
        if question is mine[1]:
            raise ZeroDivisionError("made up")
        return decide(question, *rest)

    monkeypatch.setattr(allocator, "decide", failing)
    with pytest.raises(ZeroDivisionError):
        in_turn(allocator, mine, 2, {}, frozenset())
    assert state(world) == before


def test_members_that_ask_for_what_was_refused_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with()
    mine = questions(world, [(True, "gpu", 2, "10")] * 20)
    allocator, tried = world.coordinator.allocator, list[str]()
    decide = allocator.decide

    def counted(question: Question, *rest: Any) -> Any:
        tried.append(question.pod.ref.name)
        return decide(question, *rest)

    monkeypatch.setattr(allocator, "decide", counted)
    assert "only 2 of them fit" in in_turn(allocator, mine, 20, {}, frozenset())
    assert tried == ["m0", "m1", "m2"]
    tried.clear()
    in_turn(allocator, mine, 20, {mine[9].pod.uid: {"node-a": "made up"}}, frozenset())
    assert tried == ["m0", "m1", "m2", "m9"]


def put(world: World, asked: list[tuple[bool, str, int, str]], minimum: int) -> None:
    for number, ask in enumerate(asked):
        world.server.put("Pod", grouped(member(world, f"m{number}", ask), minimum))
    world.settle()


def test_members_by_amounts_and_members_with_claims_get_devices_together() -> None:
    world = world_with()
    put(world, [(True, "gpu", 2, "10"), (False, "gpu", 1, "10"), (True, "half", 2, "10")], 3)
    assert sorted(devices(world, 3)) == ["m0", "m1", "m2"]
    assert world.server.writes[-3:] == ["gate"] * 3


def test_a_group_of_which_too_few_fit_gets_nothing_and_is_told_how_many_do() -> None:
    world = world_with()
    put(world, [(True, "gpu", 2, "10")] * 3, 3)
    assert devices(world, 3) == {}
    assert world.server.writes == []
    expected = "group default/training: of 3 members 3 are needed, and one after another only 2 of them fit"
    assert world.told("m1") == expected


def test_a_claim_of_several_members_beside_amounts_is_refused_with_its_name() -> None:
    world = world_with()
    world.server.put("ResourceClaim", claim("shared"))
    for name in ("a", "b"):
        world.server.put("Pod", grouped(pod(name, "shared"), 3))
    put(world, [(True, "half", 1, "10")], 3)
    assert world.node_of("shared") is None
    assert world.told("a") == (
        "group default/training: claim default/shared is used by several members, and others of the group "
        "ask by amounts"
    )


def test_a_member_that_asks_for_a_class_that_nobody_made_is_named() -> None:
    world = world_with()
    put(world, [(True, "half", 1, "10"), (True, "nothing", 1, "10")], 2)
    assert devices(world, 2) == {}
    assert "only 1 of them fit; m1: " in world.told("m0")
    assert "no ResourceClass has this name" in world.told("m0")


def test_a_member_whose_claim_is_for_other_drivers_loses_its_gate_with_the_others() -> None:
    world = world_with()
    selectors = [{"cel": {"expression": 'device.driver == "other.example.com"'}}]
    world.server.put("DeviceClass", {"metadata": {"name": "other"}, "spec": {"selectors": selectors}})
    put(world, [(True, "half", 1, "10"), (False, "other", 1, "10")], 2)
    assert sorted(devices(world, 2)) == ["m0"]
    assert not any(map(world.is_gated, ("m0", "m1")))


def test_a_node_that_will_not_do_for_a_member_is_left_out_on_trial() -> None:
    world = world_with()
    mine = questions(world, [(True, "gpu", 1, "10"), (True, "gpu", 1, "10")])
    against = {mine[0].pod.uid: {"node-a": "made up"}}
    found = in_turn(world.coordinator.allocator, mine, 2, against, frozenset())
    assert not isinstance(found, str)
    assert found[0].node == "node-b"
    held_back = in_turn(world.coordinator.allocator, mine, 2, against, frozenset(["node-b"]))
    assert held_back == "of 2 members 2 are needed, and one after another only 1 of them fit"
