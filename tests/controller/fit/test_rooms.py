"""What is free on a node is what it can give less what its pods need, in any order of events."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.fit.rooms import Rooms
from controller.model.resources import NOTHING, Amounts

NODES, PODS = ("a", "b"), ("p", "q", "r")
amounts = st.builds(Amounts, *[st.integers(0, 5)] * 4)
events = st.one_of(
    st.tuples(st.just("node"), st.sampled_from(NODES), amounts),
    st.tuples(st.just("no node"), st.sampled_from(NODES)),
    st.tuples(st.just("put"), st.sampled_from(PODS), st.sampled_from(NODES), amounts),
    st.tuples(st.just("take"), st.sampled_from(PODS)),
)


@given(st.lists(events, max_size=30))
def test_the_free_room_is_what_is_left(script: list[tuple[Any, ...]]) -> None:
    rooms, nodes, pods = Rooms(), dict[str, Amounts](), dict[str, tuple[str, Amounts]]()
    for what, name, *rest in script:
        match what:
            case "node":
                rooms.set_node(name, rest[0])
                nodes[name] = rest[0]
            case "no node":
                rooms.remove_node(name)
                nodes.pop(name, None)
            case "put":
                rooms.put(name, *rest)
                pods[name] = (rest[0], rest[1])
            case "take":
                left = pods.pop(name, None)
                assert rooms.take_away(name) == (left[0] if left else None)
    for node in NODES:
        expected = nodes.get(node, NOTHING)
        for place, needs in pods.values():
            if place == node:
                expected = expected.minus(needs)
        assert rooms.free(node) == expected
    assert {pod: rooms.node_of(pod) for pod in PODS if rooms.node_of(pod)} == {
        pod: place for pod, (place, _) in pods.items()
    }


def test_what_is_lacking_is_named_in_words() -> None:
    rooms = Rooms()
    rooms.set_node("a", Amounts(cpu=1000, memory=10, storage=10, pods=1))
    rooms.put("p", "a", Amounts(cpu=500, pods=1))
    assert list(rooms.lacking("a", Amounts(cpu=501, memory=10, storage=11, pods=1))) == [
        "cpu",
        "local storage",
        "room for more pods",
    ]
    assert list(rooms.lacking("a", Amounts(cpu=500))) == []


def test_a_pod_that_needs_nothing_fits_on_a_node_that_has_less_than_nothing() -> None:
    rooms = Rooms()
    rooms.set_node("a", Amounts(cpu=1))
    rooms.put("p", "a", Amounts(cpu=2))
    assert list(rooms.lacking("a", NOTHING)) == []
