"""Why best-fit took a device and not its rivals: what is in the way, or what the rival would have cost."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.comparison.best_fit_reasons import best_fit_choices
from scheduler_core.comparison.other_nodes import compare_nodes
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import best_fit
from scheduler_core.model.claim import DeviceRequest, DistinctAttribute, MatchAttribute, Request
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import Node
from scheduler_core.model.obstacles import ConstraintRefuses, InUse, PartsInUse, TooLittleLeft
from scheduler_core.model.result import Allocation, Cause
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

SIZE = qualified("size", DRIVER)
BOARD = qualified("board", DRIVER)


def size(number):
    return f"device.attributes['{DRIVER}'].size == {number}"


def part(board, first, number):
    """A part of some places of a board, as hardware has them: which ones matters."""
    places = {f"place{place}": 1 for place in range(first, first + number)}
    return device(
        f"{board}-{number}-at-{first}", sources=[board], attributes={"size": number, "board": board}, **places
    )


def board(name):
    """Four places: four small parts, two halves, three quarters only from the first place."""
    whole = device(name, attributes={"size": 4, "board": name}, **{f"place{place}": 1 for place in range(4)})
    small = [part(name, first, 1) for first in range(4)]
    return [whole, *small, part(name, 0, 2), part(name, 2, 2), part(name, 0, 3)]


def cluster_of(*devices, allocated=()):
    return Cluster(pools=(pool(*devices),), classes={"any": ANY}, allocated=tuple(allocated))


def why(cluster, *claims):
    allocation = Engine.of(cluster, best_fit()).allocate(claims, NODE)
    assert isinstance(allocation, Allocation)
    return best_fit_choices(allocation, claims, cluster, NODE)


def rivals(choice):
    return {str(one.device.device): one for one in choice.rivals}


def test_a_rival_that_costs_more_is_told_with_the_room_that_it_would_leave():
    (choice,) = why(cluster_of(*board("b")), claim(request("r", size(1))))

    assert str(choice.device.device) == "b-1-at-3"
    dear = rivals(choice)["b-1-at-0"]
    assert dear.obstacle is None
    assert dear.extra > 0
    (part,) = dear.remaining
    assert [(part.like.device, part.with_answer, part.with_other)] == [("b-3-at-0", 1, 0)]


def test_a_rival_that_leaves_as_much_costs_nothing_more():
    (choice,) = why(cluster_of(*board("b"), *board("c")), claim(request("r", size(1))))

    same = rivals(choice)["c-1-at-3"]
    assert (same.obstacle, same.extra, same.remaining) == (None, 0.0, ())


def test_a_rival_that_another_claim_holds_is_told_by_its_holder():
    (choice,) = why(cluster_of(*board("b"), allocated=[held("b-1-at-3")]), claim(request("r", size(1))))

    obstacle = rivals(choice)["b-1-at-3"].obstacle
    assert (type(obstacle), obstacle_text(obstacle)) == (InUse, "it is held by default/other")
    assert [(one.device, one.by) for one in obstacle.holders] == [("b-1-at-3", "default/other")]


def test_a_rival_in_the_place_of_another_request_is_told_by_that_request():
    _, half = why(cluster_of(*board("b")), claim(request("s", size(1)), request("h", size(2))))

    (rival,) = half.rivals
    obstacle = rival.obstacle
    assert isinstance(obstacle, TooLittleLeft)
    assert {one.by for missing in obstacle.missing for one in missing.holders} == {"default/claim request s"}


def test_a_rival_that_breaks_a_constraint_is_told_with_the_constraint():
    wanted = claim(request("a", size(1)), request("b", size(2)), constraints=[MatchAttribute(BOARD)])

    small, _ = why(cluster_of(*board("b"), *board("c")), wanted)

    other = {"b": "c", "c": "b"}[str(small.device.device)[0]]
    obstacle = rivals(small)[f"{other}-1-at-0"].obstacle
    assert isinstance(obstacle, ConstraintRefuses)
    assert (
        obstacle_text(obstacle) == f"matchAttribute {BOARD} does not allow it with the claim's other devices"
    )


def test_devices_of_one_request_are_no_rivals_of_each_other():
    first, second = why(cluster_of(*board("b")), claim(request("r", size(1), count=2)))

    assert second.device not in {one.device for one in first.rivals}
    assert first.device not in {one.device for one in second.rivals}


def test_an_alternative_that_had_to_yield_is_told_as_it_was_before_the_claims_came():
    options = tuple(
        DeviceRequest(name=f"r/{name}", class_name="any", selectors=(size(number),))
        for name, number in (("whole", 4), ("small", 1))
    )
    cluster = cluster_of(*board("b"), allocated=[held("b-1-at-0")])

    (choice,) = why(cluster, claim(Request(name="r", alternatives=options)))

    (demand,) = choice.yielded
    assert (demand.request, demand.free) == ("r/whole", 0)
    assert isinstance(demand.matched[0].obstacle, PartsInUse)


def test_what_the_tables_do_not_cover_has_no_room():
    odd = pool(device("odd", attributes={"size": 1}), node="node-1")
    shared = replace(odd, devices=tuple(replace(one, is_shareable=True) for one in odd.devices))
    cluster = Cluster(pools=(shared,), classes={"any": ANY})
    engine = Engine.of(cluster, best_fit())
    asked = claim(request("r", size(1)))

    (choice,) = why(cluster, asked)

    engine.decide([asked], NODE)
    assert engine.answered_by.gap == "a request matches shareable devices"
    assert (str(choice.device.device), choice.rivals) == ("odd", ())


SIZES = st.lists(st.sampled_from([1, 1, 1, 2, 3]), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 2), st.sets(st.sampled_from(range(4))), SIZES, st.booleans())
def test_a_rival_that_could_be_had_makes_a_full_answer_too(boards, taken, sizes, are_different):
    devices = [one for number in range(boards) for one in board(f"b{number}")]
    cluster = cluster_of(*devices, allocated=[held(*(f"b0-1-at-{place}" for place in sorted(taken)))])
    rules = [DistinctAttribute(SIZE)] if are_different else []
    asked = claim(
        *(request(f"r{index}", size(number)) for index, number in enumerate(sizes)), constraints=rules
    )
    allocation = Engine.of(cluster, best_fit()).allocate([asked], NODE)
    if not isinstance(allocation, Allocation):
        return

    found = best_fit_choices(allocation, [asked], cluster, NODE)

    assert [one.device for one in found] == [one.device for one in allocation.results[asked.ref]]
    for one in found:
        for rival in one.rivals:
            if rival.obstacle is None:
                others = [str(other.device.device) for other in found if other is not one]
                assert can_be_held(cluster, [*others, str(rival.device.device)])
            elif not isinstance(rival.obstacle, ConstraintRefuses):
                others = [str(other.device.device) for other in found if other is not one]
                assert not can_be_held(cluster, [*others, str(rival.device.device)])


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 3), st.sets(st.sampled_from(range(4))), st.sampled_from([1, 2, 3]))
def test_of_one_device_no_rival_would_have_cost_less(boards, taken, number):
    devices = [one for index in range(boards) for one in board(f"b{index}")]
    cluster = cluster_of(*devices, allocated=[held(*(f"b0-1-at-{place}" for place in sorted(taken)))])
    asked = claim(request("r", size(number)))
    if not isinstance(Engine.of(cluster).allocate([asked], NODE), Allocation):
        return

    (choice,) = why(cluster, asked)

    assert all(rival.extra >= 0 for rival in choice.rivals)


def can_be_held(cluster, names):
    """Whether the devices can be in use together, beside what is held."""
    wanted = claim(
        *(
            Request(
                name=f"r{index}",
                alternatives=(
                    DeviceRequest(
                        name=f"r{index}",
                        class_name="any",
                        selectors=(f"device.attributes['{DRIVER}'].name == '{name}'",),
                    ),
                ),
            )
            for index, name in enumerate(names)
        )
    )
    (only_pool,) = cluster.pools
    named = tuple(
        replace(one, attributes={**one.attributes, qualified("name", DRIVER): str(one.name)})
        for one in only_pool.devices
    )
    changed = replace(cluster, pools=(replace(only_pool, devices=named),))
    return isinstance(Engine.of(changed).allocate([wanted], NODE), Allocation)


def test_another_node_is_told_by_what_the_claims_would_have_cost_there_or_why_they_do_not_fit():
    here, there = pool(*board("b")), pool(*board("b"), node="node-2")
    whole = cluster_of(*board("b"))
    cluster = replace(whole, pools=(here, there), allocated=(held("b-1-at-3"), held("b-1-at-0", by="x")))
    engine, asked = Engine.of(cluster, best_fit()), claim(request("r", size(1)))
    nodes = [NODE, Node("node-2"), Node("node-3")]
    answers = [engine.allocate([asked], node) for node in nodes]

    fresh, none = compare_nodes(answers[0], answers[1:], [asked], cluster, {"node-2"})

    assert (fresh.node, fresh.refused, fresh.is_compared, none.is_compared) == ("node-2", None, True, False)
    assert fresh.extra > 0
    weightiest = fresh.remaining[0]
    assert (weightiest.like.device, weightiest.with_answer, weightiest.with_other) == ("b", 1, 0)
    assert none.refused.cause is Cause.NO_MATCHING_DEVICE
