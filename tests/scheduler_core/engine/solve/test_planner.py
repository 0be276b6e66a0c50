"""The planner: a plan's first answer is that of the plain search, for claims whose plan covers them."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from nodes_in_tables import node_views_of, plan_on
from random_components import pools

from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import DistinctAttribute, MatchAttribute
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.result import Allocation
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, pool, request

MANY = settings(max_examples=200)
RAIL, SIDE = (QualifiedName(f"{DRIVER}/{name}") for name in ("rail", "side"))
RULES = [
    (),
    (MatchAttribute(RAIL),),
    (MatchAttribute(RAIL, ("r0",)), MatchAttribute(RAIL, ("r1",))),
    (MatchAttribute(RAIL), MatchAttribute(SIDE, ("r0",))),
    (DistinctAttribute(RAIL),),
    (DistinctAttribute(RAIL, ("r0",)), MatchAttribute(SIDE)),
]
RED = f"device.attributes['{DRIVER}'].side == 'red'"


@st.composite
def boards(draw):
    """Boards with parts, each on a rail and of a side."""
    devices = []
    for board in range(draw(st.integers(1, 3))):
        said = {"rail": draw(st.sampled_from("ab")), "side": draw(st.sampled_from(["red", "blue"]))}
        devices.append(device(f"b{board}", attributes=said, m=draw(st.integers(1, 3))))
        devices += [
            device(f"b{board}-{part}", sources=[f"b{board}"], attributes=said, m=1)
            for part in range(draw(st.integers(0, 2)))
        ]
    return pool(*devices)


def plan_of(published, wanted):
    node_view = node_views_of([published]).node_view(NODE)
    return plan_on(node_view, wanted), node_view.components


def names(plan, components):
    answer = plan.first(components)
    return answer and [components[number].layout.names[position] for number, position in answer.picks]


def plain_names(published, wanted):
    cluster = Cluster(pools=(published,), classes={"any": ANY})
    answer = allocate([wanted], cluster, NODE)
    return (
        [one.device.device for one in answer.results[wanted.ref]] if isinstance(answer, Allocation) else None
    )


@MANY
@given(boards(), st.sampled_from(RULES), st.tuples(st.integers(1, 2), st.integers(1, 2)), st.booleans())
def test_a_plans_first_answer_is_that_of_the_plain_search(published, rules, counts, is_red):
    wanted = claim(
        request("r0", *([RED] if is_red else []), count=counts[0]),
        request("r1", count=counts[1]),
        constraints=rules,
    )
    plan, components = plan_of(published, wanted)
    if plan is None:
        return  # the planner says so, and a search answers

    found, fits = names(plan, components), plan.fits(components)

    assert found == plain_names(published, wanted)
    assert fits is (found is not None)


@given(boards())
def test_a_plan_has_a_subproblem_for_every_value_that_a_constraint_can_settle_on(published):
    wanted = claim(request("r0", count=2), constraints=[MatchAttribute(RAIL)])

    plan, _ = plan_of(published, wanted)

    assert len(plan.subproblems) == len({one.attributes[RAIL] for one in published.devices})


@given(pools())
def test_subproblems_over_equal_components_share_their_views(published):
    wanted = claim(request("r0", count=1), request("r1", count=2))

    plan, _ = plan_of(published, wanted)

    views = [member.view for one in plan.subproblems for member in one.subproblem.members]
    for one, other in product(views, views):
        assert (one is other) is ((one.tables, one.masks) == (other.tables, other.masks))
