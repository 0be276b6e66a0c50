"""Each namespace has a fair part of the events that wait, and those about Nodes lose nothing to any."""

from __future__ import annotations

from collections import Counter

import pytest

from kube_api.events.ledger import Occurrence, Regarding
from kube_api.events.waiting import MOST, MOST_OF_ONE, Emitted, WaitingEvents

NODE = ""


def event(namespace: str, message: str = "") -> Emitted:
    kind = "ResourceClaim" if namespace else "Node"
    about = Regarding(api_version="v1", kind=kind, name="x", namespace=namespace)
    return Emitted(Occurrence(about, "Warning", "Refused", message, "Prepare"), 0.0)


def full_of(*namespaces: str) -> WaitingEvents:
    """Events of these namespaces, one after another, until there is no more space."""
    waiting = WaitingEvents()
    for number in range(MOST):
        assert waiting.put(event(namespaces[number % len(namespaces)], str(number))) is None
    return waiting


def taken(waiting: WaitingEvents) -> list[Emitted]:
    waiting.close()
    found = []
    while (one := waiting.take(0.0)) is not None:
        found.append(one)
    return found


@pytest.fixture
def four() -> WaitingEvents:
    return full_of("a", "b", "c", "d")


def test_events_leave_in_the_order_in_which_they_came() -> None:
    waiting = WaitingEvents()
    events = [event(namespace) for namespace in "abacab"]
    for one in events:
        waiting.put(one)

    assert taken(waiting) == events


def test_one_namespace_has_no_more_than_its_part_while_there_is_space_for_others() -> None:
    waiting = WaitingEvents()
    for namespace in ("loud", NODE):
        for _ in range(MOST_OF_ONE):
            assert waiting.put(event(namespace)) is None

        assert waiting.put(one := event(namespace)) is one


def test_whoever_comes_fifth_has_its_turn_though_four_have_filled_all(four: WaitingEvents) -> None:
    lost = [four.put(event("fifth")) for _ in range(MOST // 5)]

    assert None not in lost
    counts = Counter(one.namespace for one in taken(four))
    assert counts["fifth"] == MOST // 5
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_namespace_with_the_most_events_gives_up_its_newest() -> None:
    waiting = full_of("a", "b", "c", "d", "e", "f", "g", "a")

    lost = waiting.put(event("new"))

    assert lost is not None
    newest_of_a = max(number for number in range(MOST) if number % 8 in (0, 7))
    assert (lost.namespace, lost.occurrence.message) == ("a", str(newest_of_a))


def test_nobody_gives_up_an_event_to_whoever_would_have_as_many(four: WaitingEvents) -> None:
    few = full_of(*map(str, range(MOST)))

    assert few.put(one := event("new")) is one
    assert len(taken(few)) == MOST
    taken_one = four.take(0.0)
    assert taken_one is not None
    assert four.put(event(taken_one.namespace)) is None
    assert four.put(again := event(taken_one.namespace)) is again


def test_an_event_about_a_node_has_a_place_however_few_events_each_tenant_has() -> None:
    waiting = full_of(*map(str, range(MOST)))

    for _ in range(MOST_OF_ONE):
        lost = waiting.put(event(NODE))

        assert lost is not None
        assert lost.namespace != NODE


def test_events_about_nodes_give_up_no_place_to_tenants() -> None:
    waiting = WaitingEvents()
    for _ in range(MOST_OF_ONE):
        waiting.put(event(NODE))
    for tenant in range(2 * MOST):
        waiting.put(event(str(tenant)))

    counts = Counter(one.namespace for one in taken(waiting))
    assert counts[NODE] == MOST_OF_ONE
    assert counts.total() == MOST


def test_a_closed_queue_is_over_when_its_last_event_was_taken() -> None:
    waiting = WaitingEvents()
    waiting.put(event("a"))
    waiting.close()

    assert not waiting.is_over
    assert waiting.take(60.0) is not None
    assert waiting.take(60.0) is None  # at once
    assert waiting.is_over
