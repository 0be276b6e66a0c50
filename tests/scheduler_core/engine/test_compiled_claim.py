"""Compiled claims: which devices suit them, and one plan for all nodes that look the same to them."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from nodes_in_tables import compiled, node_views_of
from random_components import changed, machine

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.solve.coverage import Uncovered
from scheduler_core.model.nodes import Node, admits
from scheduler_core.model.taints import Taint, Toleration, intolerable
from scheduler_core.rules.selectors import compile_selector, view
from scheduler_core.state.testing import DRIVER, claim, request
from scheduler_core.tables.bits import positions

PART = f"device.attributes['{DRIVER}'].kind == 'part'"
TOLERATION = Toleration("health", value="bad")
MANY = settings(max_examples=150)


def serial(number):
    """A selector of the board with a serial number."""
    return f"'serial' in device.attributes['{DRIVER}'] && device.attributes['{DRIVER}'].serial == '{number}'"


def wanted(capacity, tolerations, text=PART):
    asked = request("r", text)
    option = replace(
        asked.alternatives[0],
        capacity={"m": Quantity.of(capacity)} if capacity else {},
        tolerations=tolerations,
    )
    return claim(replace(asked, alternatives=(option,)))


@st.composite
def machines(draw):
    """A machine of which some device is other than usual, or tainted, or for another node."""
    found = changed(draw(st.randoms(use_true_random=False)), machine(0))
    taints = st.lists(st.sampled_from([Taint("health", "bad"), Taint("health", "worse")]), max_size=1)
    return replace(
        found,
        devices=tuple(
            replace(one, taints=(*one.taints, *draw(taints)), is_shareable=False) for one in found.devices
        ),
    )


def suits(selector, one):
    """Whether a selector chooses a device, None where it fails on it."""
    try:
        return selector.matches(view(DRIVER, one))
    except SelectorError:
        return None


@MANY
@given(machines(), st.integers(0, 3), st.booleans())
def test_a_plan_offers_the_usable_devices_that_suit_and_bear_no_taint_that_is_not_tolerated(
    published, capacity, tolerates
):
    tolerations = (TOLERATION,) if tolerates else ()
    node = Node("node-0")
    node_view = node_views_of([published]).node_view(node)
    usable = [one for one in published.devices if admits(one.nodes, node)]
    selector, least = compile_selector(PART), Quantity.of(capacity).nano

    coverage = compiled(wanted(capacity, tolerations)).coverage(node_view)

    if any(suits(selector, one) is None for one in usable):
        assert coverage == Uncovered("a selector or an amount fails on some device")
        return
    chosen = [
        one.name
        for one in usable
        if suits(selector, one)
        and all(key.endswith("/m") and amount.nano >= least for key, amount in one.capacity.items())
        and (one.capacity or not capacity)
        and intolerable(one.taints, tolerations) is None
    ]
    offered = [
        node_view.components[member.component].layout.names[position]
        for planned in coverage.plan.subproblems
        for member in planned.subproblem.members
        for position in positions(member.view.masks[0])
    ]
    assert sorted(offered) == sorted(chosen)


@given(st.integers(2, 6))
def test_nodes_that_differ_in_what_nothing_reads_share_a_plan(count):
    pools = [machine(number) for number in range(count)]
    node_views = node_views_of([*pools, *pools])
    claims = compiled(wanted(0, ()))

    plans = {claims.coverage(node_views.node_view(Node(f"node-{number}"))).plan for number in range(count)}

    assert len(plans) == 1


def test_nodes_that_differ_in_what_a_selector_reads_have_a_plan_each():
    pools = [machine(number) for number in range(2)]
    node_views = node_views_of([*pools, *pools])
    claims = compiled(wanted(0, (), text=serial("1-0")))

    fits = []
    for number in range(2):
        node_view = node_views.node_view(Node(f"node-{number}"))
        fits.append(claims.coverage(node_view).plan.fits(node_view.components))

    assert fits == [False, True]


@given(st.integers(0, 7), st.integers(0, 1))
def test_a_claim_is_not_covered_where_it_suits_a_shareable_device(index, board):
    published = machine(0)
    shared = replace(published.devices[index], is_shareable=True)
    published = replace(
        published, devices=(*published.devices[:index], shared, *published.devices[index + 1 :])
    )
    node_view = node_views_of([published]).node_view(Node("node-0"))
    claims = compiled(wanted(0, (), serial(f"0-{board}")))

    assert isinstance(claims.coverage(node_view), Uncovered) is (shared.name == f"b{board}")


@given(st.integers(0, 1))
def test_a_node_view_that_is_no_more_is_forgotten_and_a_new_one_is_answered_anew(number):
    node_views = node_views_of([machine(number)])
    claims, node_view = compiled(wanted(0, ())), node_views.node_view(Node(f"node-{number}"))
    before = claims.coverage(node_view)

    claims.forget(node_view)

    assert claims.coverage(node_view).plan is before.plan
