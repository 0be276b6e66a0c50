"""Policies: values that are compared, and choosers that find an answer wherever one exists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodes_in_tables import node_views_of, plan_on

from scheduler_core.base.effort import Effort
from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT, BestFit, best_fit
from scheduler_core.state.testing import NODE, claim, device, pool, request

DEMANDS = st.dictionaries(st.sampled_from(["true", "false", "1 == 1"]), st.floats(0, 9), max_size=3)


def chooser_of(policy):
    return policy.chooser(SelectorCache(), Effort())


def plan_and_components(taken):
    parts = (device(f"p{number}", sources=["b"], m=1) for number in range(4))
    node_view = node_views_of([pool(device("b", m=4), *parts)]).node_view(NODE)
    (component,) = node_view.components
    component.state = taken
    return plan_on(node_view, claim(request("r", count=2))), node_view.components


@pytest.mark.parametrize("policy", [FIRST_FIT, BEST_FIT, best_fit({"true": 2})])
@given(taken=st.integers(0, 31))
def test_a_chooser_has_an_answer_where_the_plan_fits(policy, taken):
    plan, components = plan_and_components(taken)
    chooser = chooser_of(policy)
    for component in components:
        chooser.entered(component)

    assert (chooser.choose(plan, components) is not None) is plan.fits(components)


@given(st.integers(0, 31))
def test_first_fit_takes_the_plans_first_answer_at_no_price(taken):
    plan, components = plan_and_components(taken)
    chooser = chooser_of(FIRST_FIT)

    found = chooser.choose(plan, components)

    first = plan.first(components)
    assert found == (None if first is None else (0.0, first))
    assert chooser.compared == 1


@given(DEMANDS, DEMANDS)
def test_policies_with_the_same_demands_are_equal(one, other):
    assert best_fit(one) == BestFit(tuple(one.items()))
    assert (best_fit(one) == best_fit(other)) is (list(one.items()) == list(other.items()))


@given(st.floats(max_value=-0.001, allow_nan=False))
def test_a_negative_demand_is_refused_with_its_selector(demand):
    with pytest.raises(ValueError, match=r"'true' is .*; it must not be negative"):
        best_fit({"true": demand})


def test_a_demand_that_does_not_compile_is_refused_when_a_chooser_is_made():
    with pytest.raises(SelectorError):
        chooser_of(best_fit({"device.": 1}))
