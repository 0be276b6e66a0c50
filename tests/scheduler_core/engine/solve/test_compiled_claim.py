"""Compiled claims: which devices suit them, and one plan for all nodes that look the same to them."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from nodes_in_tables import compiled, node_views_of
from random_components import changed, machine

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.nodes import Node, admits
from scheduler_core.model.taints import Taint, Toleration, intolerable
from scheduler_core.rules.selectors import compile_selector, view
from scheduler_core.state.testing import DRIVER, claim, request

PART = f"device.attributes['{DRIVER}'].kind == 'part'"
TOLERATION = Toleration("health", value="bad")
MANY = settings(max_examples=150)


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
        found, devices=tuple(replace(one, taints=(*one.taints, *draw(taints))) for one in found.devices)
    )


@MANY
@given(machines(), st.integers(0, 3), st.booleans())
def test_every_device_is_chosen_barred_by_a_taint_failed_or_unsuitable(published, capacity, tolerates):
    tolerations = (TOLERATION,) if tolerates else ()
    node = Node("node-0")
    node_view = node_views_of([published]).node_view(node)
    selector = compile_selector(PART)

    found = compiled(wanted(capacity, tolerations)).matched(node_view)

    for component, matched in zip(node_view.components, found, strict=True):
        for position in range(component.template.tables.size):
            one = component.device(position)
            try:
                suits = selector.matches(view(DRIVER, one))
            except SelectorError:
                suits = None
            has_enough = all(amount.nano >= Quantity.of(capacity).nano for amount in one.capacity.values())
            has_enough = has_enough and bool(one.capacity or not capacity)
            is_barred = intolerable(one.taints, tolerations) is not None
            is_usable = admits(one.nodes, node)
            masks = [mask >> position & 1 for (mask,) in (matched.chosen, matched.barred, matched.failed)]
            assert masks == [
                bool(is_usable and suits and has_enough and not is_barred),
                bool(is_usable and suits and has_enough and is_barred),
                is_usable and suits is None,
            ]


@given(st.integers(2, 6))
def test_nodes_that_differ_in_what_nothing_reads_share_a_plan(count):
    pools = [machine(number) for number in range(count)]
    node_views = node_views_of([*pools, *pools])
    claims = compiled(wanted(0, ()))

    plans = {claims.plan(node_views.node_view(Node(f"node-{number}"))) for number in range(count)}

    assert len(plans) == 1


def test_nodes_that_differ_in_what_a_selector_reads_have_a_plan_each():
    pools = [machine(number) for number in range(2)]
    node_views = node_views_of([*pools, *pools])
    claims = compiled(wanted(0, (), text=f"device.attributes['{DRIVER}'].?serial == optional.of('1-0')"))

    fits = []
    for number in range(2):
        node_view = node_views.node_view(Node(f"node-{number}"))
        fits.append(claims.plan(node_view).fits(node_view.components))

    assert fits == [False, True]


@given(st.integers(0, 7), st.integers(0, 1))
def test_a_claim_meets_shareable_devices_where_it_suits_devices_connected_with_one(index, board):
    published = machine(0)
    shared = replace(published.devices[index], is_shareable=True)
    published = replace(
        published, devices=(*published.devices[:index], shared, *published.devices[index + 1 :])
    )
    node_view = node_views_of([published]).node_view(Node("node-0"))
    claims = compiled(wanted(0, (), f"device.attributes['{DRIVER}'].?serial == optional.of('0-{board}')"))

    meets = claims.meets_shareable(node_view, claims.matched(node_view))

    assert meets is shared.name.startswith(f"b{board}")
