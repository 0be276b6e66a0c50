"""The line of waiting pods: its order, its shapes, and that a refused shape rests."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.queue.waiting_line import Entry, Order, WaitingLine


def entry(uid: str, shape: str = "a", priority: int = 0, created: str = "2026-01-01T00:00:00Z") -> Entry:
    return Entry(Order.of(priority, created, uid), shape)


def test_higher_priority_first_then_the_older_pod() -> None:
    line = WaitingLine()
    young, old = entry("1", "x", created="2026-01-02T00:00:00Z"), entry("2", "y")
    urgent = entry("3", "z", priority=10, created="2026-01-03T00:00:00Z")
    for one in (young, old, urgent):
        line.put(one)
    found = []
    while (first := line.next()) is not None:
        found.append(first.uid)
        line.remove(first.uid)
    assert found == ["3", "2", "1"]


def test_pods_of_a_refused_shape_rest_until_something_changes() -> None:
    line = WaitingLine()
    for number in range(1000):
        line.put(entry(f"{number:04}"))
    tried = line.next()
    assert tried is not None
    line.refused(tried)
    assert line.next() is None
    line.wake()
    assert line.next() == tried


def test_a_pod_that_leaves_lets_the_next_of_its_shape_be_tried() -> None:
    line = WaitingLine()
    line.put(entry("1"))
    line.put(entry("2"))
    line.remove("1")
    assert line.next() == entry("2")


def test_a_pod_that_leaves_does_not_wake_a_shape_that_rests() -> None:
    line = WaitingLine()
    line.put(entry("1"))
    line.put(entry("2"))
    line.refused(entry("1"))
    line.remove("1")
    assert line.next() is None


def test_a_pod_that_changes_is_tried_in_its_new_shape() -> None:
    line = WaitingLine()
    line.put(entry("1", "a"))
    line.refused(entry("1", "a"))
    line.put(entry("1", "b"))
    assert line.next() == entry("1", "b")


orders = st.tuples(st.integers(0, 2), st.sampled_from("abc"), st.sampled_from("xyz"))
steps = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 5), orders),
    st.tuples(st.just("remove"), st.integers(0, 5), st.none()),
    st.tuples(st.just("try"), st.integers(0, 1), st.none()),
    st.tuples(st.just("wake"), st.none(), st.none()),
)


@given(st.lists(steps, max_size=40))
def test_the_line_is_a_sorted_list_of_pods_whose_shape_does_not_rest(script: list[Any]) -> None:
    line, pods, resting = WaitingLine(), dict[str, Entry](), set[object]()
    for what, number, order in script:
        match what:
            case "put":
                one = entry(str(number), order[2], order[0], order[1])
                pods[one.uid] = one
                resting.discard(one.shape)
                line.put(one)
            case "remove":
                pods.pop(str(number), None)
                line.remove(str(number))
            case "wake":
                resting.clear()
                line.wake()
            case _:
                found = line.next()
                if found is not None and number:
                    resting.add(found.shape)
                    line.refused(found)
        expected = sorted(
            (one for one in pods.values() if one.shape not in resting), key=lambda one: one.order
        )
        assert line.next() == (expected[0] if expected else None)
        assert len(line) == len(pods)
