"""How many devices are left for a request after each thing that it asks, and what there is in their place."""

import re
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_clusters import NODES, SELECTORS, situation_of

from scheduler_core.base.errors import CoreError
from scheduler_core.base.quantity import Quantity
from scheduler_core.explain.first_fit_reasons import demands
from scheduler_core.explain.funnel import funnels
from scheduler_core.explain.selector_terms import terms_of
from scheduler_core.model.claim import DistinctAttribute, MatchAttribute
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.funnel import StageKind
from scheduler_core.model.names import qualified
from scheduler_core.model.sentences import values_text
from scheduler_core.rules.selectors import compile_selector
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

COLOUR = f"device.attributes['{DRIVER}'].colour"
SIZE = f"device.attributes['{DRIVER}'].size"
BOARDS = pool(
    device("one", attributes={"colour": "red", "size": 1}, m=4),
    device("two", attributes={"colour": "red", "size": 2}, m=4),
    device("three", attributes={"colour": "blue", "size": 3}, m=8),
)


def funnel(*selectors, constraints=(), allocated=(), count=1):
    cluster = Cluster(pools=(BOARDS,), classes={"any": ANY}, allocated=tuple(allocated))
    asked = claim(request("r", *selectors, count=count), constraints=constraints)
    (found,) = funnels([asked], cluster, NODE)
    return found


def left(found):
    return [(one.kind.value, one.left) for one in found.stages]


def test_each_term_of_a_selector_is_a_stage():
    found = funnel(f"{COLOUR} == 'red' && {SIZE} == 3")

    assert left(found) == [("known", 3), ("class", 3), ("selector", 2), ("selector", 0), ("free", 0)]
    assert [one.asked for one in found.stages[2:4]] == [f"{COLOUR} == 'red'", f"{SIZE} == 3"]
    assert found.decisive == 3


def test_the_stage_that_leaves_nothing_tells_what_there_is_and_what_is_nearest():
    (values,) = funnel(f"{COLOUR} == 'read'").stages[2].values

    assert (dict(values.found), values.wanted, values.nearest) == ({"blue": 1, "red": 2}, ("read",), "red")
    assert values_text(values) == "values of colour present: blue, red (nearest to read: red)"


def test_the_nearest_number_is_the_one_with_the_smallest_distance():
    (values,) = funnel(f"{SIZE} == 7").stages[2].values

    assert values.nearest == "3"


def test_an_attribute_that_no_device_has_names_the_one_that_was_meant():
    found = funnel(f"device.attributes['{DRIVER}'].color == 'red'")

    assert (found.stages[2].left, found.stages[2].fails) == (3, 3)
    (values,) = found.stages[2].values
    assert values_text(values) == f"no device has {DRIVER}/color, did you mean {DRIVER}/colour?"


def test_a_stage_that_leaves_enough_tells_no_values():
    assert [one.values for one in funnel(f"{COLOUR} == 'red'").stages] == [()] * 4


def test_what_is_held_is_not_free():
    assert left(funnel(f"{COLOUR} == 'red'", allocated=[held("one")]))[-1] == ("free", 1)


@pytest.mark.parametrize(
    ("constraint", "count", "expected"),
    [
        (MatchAttribute(qualified("colour", DRIVER)), 2, 2),  # of blue there is one
        (MatchAttribute(qualified("rack", DRIVER)), 1, 0),
        (DistinctAttribute(qualified("rack", DRIVER)), 1, 0),
        (DistinctAttribute(qualified("colour", DRIVER)), 2, 3),
    ],
)
def test_a_constraint_leaves_what_it_could_allow_with_some_other_devices(constraint, count, expected):
    found = funnel(constraints=[constraint], count=count)

    assert [one.left for one in found.stages if one.kind is StageKind.CONSTRAINT] == [expected]


def test_a_capacity_that_is_too_small_everywhere_tells_what_there_is():
    found = funnel(f"device.capacity['{DRIVER}'].m.compareTo(quantity('9')) >= 0")

    (values,) = found.stages[2].values
    assert dict(values.found) == {str(Quantity.of(4)): 2, str(Quantity.of(8)): 1}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a && b", ["a", "b"]),
        ("a && (b || c)", ["a", "(b || c)"]),
        ("a || b && c", ["a || b && c"]),
        ("(a ? b : c) && a", ["(a ? b : c)", "a"]),
        ("a ? b && c : a", ["a ? b && c : a"]),
        ('device.driver == "x && y" && a', ['device.driver == "x && y"', "a"]),
        ("a && ([a][?0].orValue(b)) && c", ["a", "([a][?0].orValue(b))", "c"]),
    ],
)
def test_a_selector_is_taken_apart_only_where_and_joins_it_outside_brackets(text, terms):
    named = {"a": "true", "b": "false", "c": "(device.driver == 'c')"}

    def filled(part):
        return re.sub(r"\b[abc]\b", lambda found: named[found[0]], part)

    assert [one.text for one in terms_of(filled(text))] == list(map(filled, terms))


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**48))
def test_no_stage_has_more_devices_than_the_one_before_and_they_end_with_what_matches(seed):
    situation = situation_of(Random(seed))
    for node in NODES:
        try:
            found = funnels(situation.claims, situation.cluster(), node)
        except CoreError:
            continue
        for one, demand in zip(found, demands(situation.claims, situation.cluster(), node), strict=True):
            counts = [stage.left for stage in one.stages]
            assert counts == sorted(counts, reverse=True)
            kinds = (StageKind.KNOWN, StageKind.CLASS, StageKind.SELECTOR, StageKind.CAPACITY)
            matching = [stage.left for stage in one.stages if stage.kind in kinds]
            if not any(stage.fails for stage in one.stages):
                assert matching[-1] == len(demand.matched)
            assert counts[-1] <= demand.free


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(SELECTORS), min_size=1, max_size=4))
def test_a_selector_is_the_terms_that_it_was_joined_from(parts):
    joined = " && ".join(parts)
    terms = [term for part in parts for term in terms_of(part)]

    assert terms_of(joined) == tuple(terms)
    assert compile_selector(joined).text == joined
