"""The scarcity price: the cheapest answer is taken, and totals follow every change of the cluster."""

from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nodes_in_tables import node_views_of, plan_on

from scheduler_core.base.effort import Effort
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.policy.part_kinds import PartKinds
from scheduler_core.engine.policy.scarcity_price import ScarcityPrice
from scheduler_core.model.claim import MatchAttribute
from scheduler_core.model.device import QualifiedName
from scheduler_core.state.testing import DRIVER, NODE, claim, device, pool, request
from scheduler_core.tables.bits import positions

MANY = settings(max_examples=150)
BOARD = MatchAttribute(QualifiedName(f"{DRIVER}/board"))
MOVES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=8)


def size(number):
    return f"device.attributes['{DRIVER}'].size == {number}"


def part(name, first, number):
    """A part of some memory slices of a board: it matters which."""
    slices = {f"slice{place}": 1 for place in range(first, first + number)}
    said = {"size": number, "board": name}
    return device(f"{name}-{number}-{first}", sources=[name], attributes=said, **slices)


def boards(count):
    """Boards of four memory slices: four parts of one, two of two, one of three."""
    for number in range(count):
        name = f"b{number}"
        yield device(
            name, attributes={"size": 4, "board": name}, **{f"slice{place}": 1 for place in range(4)}
        )
        yield from (part(name, first, 1) for first in range(4))
        yield from (part(name, 0, 2), part(name, 2, 2), part(name, 0, 3))


def node_view_of(count=3):
    return node_views_of([pool(*boards(count))]).node_view(NODE)


def price_of():
    return ScarcityPrice(PartKinds((), SelectorCache(), Effort()).part_counts)


def moved(scarcity, components, moves):
    """Take or give back devices, whatever fits, and tell the totals."""
    for number, position in moves:
        component = components[number]
        before = component.state
        if before >> position & 1:
            component.state ^= 1 << position
        elif component.template.tables.free(before) >> position & 1:
            component.state |= 1 << position
        scarcity.moved(component, before)


def cost(components, chosen):
    """The price of one device by the definition: what the totals of the cluster fall by, in logarithms."""
    part_kinds = PartKinds((), SelectorCache(), Effort())
    number, position = chosen
    counts = [part_kinds.part_counts(component) for component in components]
    fits = [found.fit(component.state) for found, component in zip(counts, components, strict=True)]
    totals = [sum(column) for column in zip(*fits, strict=True)]
    after = counts[number].fit(components[number].state | 1 << position)
    return sum(
        kind.weight * log((total + 1) / (total + 1 - (was - now)))
        for kind, total, was, now in zip(counts[number].part_kinds, totals, fits[number], after, strict=True)
    )


@MANY
@given(MOVES, st.integers(1, 3))
def test_one_device_is_the_cheapest_of_all_that_suit(moves, wanted):
    node_view, scarcity = node_view_of(), price_of()
    for component in node_view.components:
        scarcity.entered(component)
    moved(scarcity, node_view.components, moves)
    plan = plan_on(node_view, claim(request("r", size(wanted))))

    found = scarcity.choose(plan, node_view.components)

    (column,) = {member.view.masks[0] for member in plan.subproblems[0].subproblem.members}
    prices = {
        (number, position): cost(node_view.components, (number, position))
        for number, component in enumerate(node_view.components)
        for position in positions(component.template.tables.free(component.state) & column)
    }
    if not prices:
        assert found is None
        return
    price, answer = found
    assert price == pytest.approx(min(prices.values()))
    assert prices[answer.picks[0]] == pytest.approx(price)


@MANY
@given(MOVES, st.sampled_from([(), (BOARD,)]), st.integers(1, 3))
def test_totals_that_were_kept_are_those_counted_anew(moves, rules, count):
    node_view, kept, fresh = node_view_of(), price_of(), price_of()
    plan = plan_on(node_view, claim(request("r", size(1), count=count), constraints=rules))
    for component in node_view.components:
        kept.entered(component)
        kept.choose(plan, node_view.components)
    moved(kept, node_view.components, moves)
    kept.left(node_view.components[0])
    kept.entered(node_view.components[0])
    for component in node_view.components:
        fresh.entered(component)

    mine, theirs = (one.choose(plan, node_view.components) for one in (kept, fresh))

    assert (mine is None) is (theirs is None)
    if mine is not None:
        assert mine[1] == theirs[1]
        assert mine[0] == pytest.approx(theirs[0])


@MANY
@given(MOVES, st.sampled_from([(), (BOARD,)]), st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_no_price_costs_an_answer(moves, rules, sizes):
    node_view, scarcity = node_view_of(), price_of()
    for component in node_view.components:
        scarcity.entered(component)
    moved(scarcity, node_view.components, moves)
    requests = (request(f"r{number}", size(one)) for number, one in enumerate(sizes))
    plan = plan_on(node_view, claim(*requests, constraints=rules))

    found = scarcity.choose(plan, node_view.components)

    assert (found is not None) is plan.fits(node_view.components)


def test_a_small_part_goes_where_no_larger_one_is_lost():
    node_view, scarcity = node_view_of(1), price_of()
    scarcity.entered(node_view.components[0])
    plan = plan_on(node_view, claim(request("r", size(1))))

    _, answer = scarcity.choose(plan, node_view.components)

    (pick,) = answer.picks
    assert node_view.components[0].layout.names[pick[1]] == "b0-1-3"


def test_the_cheapest_device_is_left_to_a_later_request_that_can_use_no_other():
    light = [
        device("x", attributes={"size": 4}, slice0=1),
        device("x-1", sources=["x"], attributes={"size": 1}, slice0=1),
    ]
    heavy = [
        device("y", attributes={"size": 4}, slice0=1, slice1=1),
        device("y-1", sources=["y"], attributes={"size": 3}, slice0=1, slice1=1),
    ]
    node_view, scarcity = node_views_of([pool(*light, *heavy)]).node_view(NODE), price_of()
    for component in node_view.components:
        scarcity.entered(component)
    either = f"device.attributes['{DRIVER}'].size in [1, 3]"
    plan = plan_on(node_view, claim(request("either", either), request("light", size(1))))

    _, answer = scarcity.choose(plan, node_view.components)

    assert [node_view.components[number].layout.names[position] for number, position in answer.picks] == [
        "y-1",
        "x-1",
    ]
