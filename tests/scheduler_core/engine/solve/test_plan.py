"""Plans: the first answer of all subproblems, in the order in which a depth-first search meets answers."""

from hypothesis import given, settings
from hypothesis import strategies as st
from random_subproblems import counted_subproblems

from scheduler_core.base.effort import Effort
from scheduler_core.engine.claims.claim_signature import Alternative, chosen_of
from scheduler_core.engine.solve.plan import NodePlan, PlannedSubproblem
from scheduler_core.state.testing import device, pool
from scheduler_core.tables.pool_compiler import PoolCompiler

MANY = settings(max_examples=200)


def component_in(state):
    """A component that is in a state."""
    (found,) = PoolCompiler().compile(pool(device("d"))).components
    found.state = state
    return found


def planned(subproblem, option):
    """The subproblem of a request whose alternative ``option`` is chosen."""
    one = Alternative(
        0,
        "r",
        0,
        len(subproblem.order),
        (),
        has_configs=False,
        admin_access=False,
        tolerations=(),
        capacity=(),
    )
    choice = chosen_of((option,), (one,), [len(subproblem.order)])
    components = tuple(member.component for member in subproblem.members)
    ranks = [
        member.ranks[position]
        for member in subproblem.members
        for position in range(member.view.tables.size)
        if member.view.masks[subproblem.order[0]] >> position & 1
    ]
    return PlannedSubproblem(choice, subproblem, components, (option, min(ranks, default=0)))


@st.composite
def plans(draw):
    """Some subproblems over the same components, with the states of these."""
    subproblem, states = draw(counted_subproblems())
    found = [planned(subproblem, draw(st.integers(0, 2)))]
    for _ in range(draw(st.integers(0, 2))):
        order = draw(st.permutations(subproblem.order)).copy()
        other = type(subproblem)(
            subproblem.members, subproblem.groups, tuple(order), subproblem.limited, Effort()
        )
        found.append(planned(other, draw(st.integers(0, 2))))
    components = [component_in(0)] * len(states)
    for member, state in zip(subproblem.members, states, strict=True):
        components[member.component] = component_in(state)
    return found, components


@MANY
@given(plans())
def test_the_first_answer_of_a_plan_is_the_least_of_its_subproblems_by_their_key(given_plan):
    subproblems, components = given_plan
    answers = [(one, one.first(components)) for one in subproblems]
    keys = [one.key(found) for one, found in answers if found is not None]

    best = NodePlan(subproblems).first(components)

    assert (best is None) is (not keys)
    if best is not None:
        assert any(found == best and one.key(found) == min(keys) for one, found in answers)


@MANY
@given(plans())
def test_a_plan_fits_where_one_of_its_subproblems_does(given_plan):
    subproblems, components = given_plan

    assert NodePlan(subproblems).fits(components) is any(one.fits(components) for one in subproblems)


@MANY
@given(plans())
def test_no_answer_is_under_the_floor_of_its_subproblem(given_plan):
    subproblems, components = given_plan
    for one in subproblems:
        answer = one.first(components)
        if answer is not None:
            assert answer.lead >= one.floor
            assert one.key(answer)[:2] == answer.lead


@MANY
@given(plans())
def test_subproblems_are_ordered_by_floor_and_by_preferred_alternatives(given_plan):
    subproblems, _ = given_plan
    plan = NodePlan(subproblems)

    assert [one.floor for one in plan.subproblems] == sorted(one.floor for one in subproblems)
    options = [one.choice.options for one in plan.by_preference]
    assert options == sorted(options)
