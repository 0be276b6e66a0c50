"""Values by node: made once for all nodes that look the same."""

from hypothesis import given
from hypothesis import strategies as st
from nodes_in_tables import node_views_of

from scheduler_core.engine.per_node import PerNode
from scheduler_core.model.nodes import Node
from scheduler_core.state.testing import device, pool

LOOKS = st.lists(st.none() | st.integers(0, 2), min_size=1, max_size=4)
ASKED = st.lists(st.integers(0, 3), max_size=12)


def values_of(looks):
    """Nodes that look as said, their values, and the nodes for which a value was made."""
    node_views = node_views_of([pool(device("d"), node=f"n{number}") for number in range(len(looks))])
    views = [node_views.node_view(Node(f"n{number}")) for number in range(len(looks))]
    made = []

    def make(view):
        made.append(views.index(view))
        return object()

    return views, PerNode(make, lambda view: looks[views.index(view)]), made


@given(LOOKS, ASKED)
def test_a_value_is_made_once_for_nodes_that_look_the_same_and_once_for_a_node_like_no_other(looks, asked):
    views, values, made = values_of(looks)
    asked = [number % len(looks) for number in asked]

    found = {number: values.of(views[number]) for number in asked}

    assert len(made) == len(
        {number if looks[number] is None else f"like {looks[number]}" for number in asked}
    )
    for one in asked:
        assert values.of(views[one]) is found[one]
        for other in asked:
            is_shared = one == other or (looks[one] is not None and looks[one] == looks[other])
            assert (found[one] is found[other]) is is_shared


@given(LOOKS)
def test_a_forgotten_node_gets_what_the_nodes_like_it_share_or_a_new_value(looks):
    views, values, made = values_of(looks)
    before = [values.of(view) for view in views]
    made.clear()

    for view in [*views, *views]:
        values.forget(view)

    assert [values.of(view) is old for view, old in zip(views, before, strict=True)] == [
        look is not None for look in looks
    ]
    assert made == [number for number, look in enumerate(looks) if look is None]
