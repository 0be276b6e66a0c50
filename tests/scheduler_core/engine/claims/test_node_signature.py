"""Node signatures: equal exactly where selectors read the same and constraints find the same values equal."""

from hypothesis import given, settings
from hypothesis import strategies as st
from nodes_in_tables import compiled, node_views_of, plan_on

from scheduler_core.engine.claims.node_signature import node_signatures_of
from scheduler_core.engine.claims.selector_cache import open_slots
from scheduler_core.model.claim import MatchAttribute
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.nodes import Node
from scheduler_core.rules.selectors import compile_selector
from scheduler_core.state.testing import DRIVER, claim, device, pool, request

MANY = settings(max_examples=200)
KIND = f"'kind' in device.attributes['{DRIVER}'] && device.attributes['{DRIVER}'].kind == 'a'"
RAIL = QualifiedName(f"{DRIVER}/rail")
DEVICES = st.tuples(st.sampled_from("ab"), st.sampled_from(["r1", "r2", "r3"]))
NODES = st.lists(st.lists(DEVICES, min_size=3, max_size=3), min_size=2, max_size=4)


def views_of(nodes):
    """Nodes of three devices, each with a kind, a rail and a serial number; a fourth is the same on all."""
    pools = [
        pool(
            *(
                device(f"d{n}", attributes={"kind": kind, "rail": rail, "serial": f"{number}-{n}"})
                for n, (kind, rail) in enumerate(devices)
            ),
            device("d3", attributes={"rail": "r1"}),
            node=f"n{number}",
        )
        for number, devices in enumerate(nodes)
    ]
    # The compiler learns in which values nodes differ: the pools that came first are compiled again.
    node_views = node_views_of([*pools, *pools])
    return [node_views.node_view(Node(f"n{number}")) for number in range(len(nodes))]


def signatures(views):
    selectors = (compile_selector(KIND),)
    read = [open_slots(selectors, component.template) for component in views[0].components]
    found = node_signatures_of(views[0].components, read, [RAIL])
    return [found.of(view.components) for view in views]


def pattern(rails):
    """Which of some values are equal."""
    return [rails.index(rail) for rail in rails]


@MANY
@given(NODES)
def test_signatures_are_equal_where_nodes_read_the_same_and_the_same_rails_are_equal(nodes):
    views = views_of(nodes)
    found = signatures(views)

    for one, mine in zip(nodes, found, strict=True):
        for other, theirs in zip(nodes, found, strict=True):
            kinds = [[kind for kind, _ in devices] for devices in (one, other)]
            rails = [pattern(["r1", *(rail for _, rail in devices)]) for devices in (one, other)]
            assert (mine == theirs) is (kinds[0] == kinds[1] and rails[0] == rails[1])


@MANY
@given(NODES)
def test_nodes_with_equal_signatures_share_a_plan_that_gives_the_answer_of_each(nodes):
    views = views_of(nodes)
    wanted = claim(request("r", KIND, count=2), constraints=[MatchAttribute(RAIL)])
    shared = compiled(wanted)
    plans = [shared.coverage(view).plan for view in views]

    for mine, one, view in zip(signatures(views), plans, views, strict=True):
        for theirs, other in zip(signatures(views), plans, strict=True):
            if mine == theirs:
                assert one is other
        found, fresh = (plan.first(view.components) for plan in (one, plan_on(view, wanted)))
        assert (found and found.picks) == (fresh and fresh.picks)


def test_a_compared_value_that_is_no_string_has_no_signature():
    nodes = [[("a", rail), ("a", 0), ("a", 0)] for rail in (1, 2)]

    assert signatures(views_of(nodes)) == [None, None]
