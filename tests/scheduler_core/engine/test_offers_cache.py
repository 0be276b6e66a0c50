"""The offers cache: what a node sees, kept until one of its pools or the node itself changes."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from random_components import changed, machine

from scheduler_core.base.features import ALL
from scheduler_core.engine.offers_cache import OffersCache
from scheduler_core.model.nodes import AllNodes, Matching, Node, Operator, Requirement
from scheduler_core.search.candidates import offers
from scheduler_core.state.node_views import restored
from scheduler_core.tables.pool_compiler import PoolCompiler

ZONE_A = Matching((Requirement("zone", Operator.IN, ("a",)),))
MACHINES = st.builds(lambda chance: changed(chance, machine(0)), st.randoms(use_true_random=False))


def kept(published):
    """The pool as an engine keeps it: in tables, or as it is where they do not cover it."""
    return PoolCompiler().compile_if_regular(published) or published


@given(MACHINES, st.booleans())
def test_a_node_sees_the_pools_as_they_were_published_and_the_devices_they_offer(published, is_complete):
    published, node = replace(published, is_complete=is_complete), Node("node-0")

    found = OffersCache(ALL).seen_from(node, [kept(published)])

    assert found.pools == (published,)
    assert [one.device for one in found.offers] == [one.device for one in offers([published], node, ALL)]
    assert restored(kept(published)) == published


def test_of_two_generations_a_node_sees_the_newest_that_concerns_it():
    older = replace(machine(0), seen_from=(AllNodes(),))
    newer = replace(machine(0), generation=2, seen_from=(ZONE_A,), older=older)

    cache = OffersCache(ALL)

    assert cache.seen_from(Node("node-0", {"zone": "a"}), [newer]).pools == (newer,)
    assert cache.seen_from(Node("node-0", {"zone": "b"}), [newer]).pools == (older,)


def test_what_a_node_sees_is_made_again_only_when_a_pool_or_the_node_changes():
    cache, node, pool = OffersCache(ALL), Node("node-0"), kept(machine(0))
    found = cache.seen_from(node, [pool])

    assert cache.seen_from(Node("node-0"), [pool]) is found
    assert cache.seen_from(Node("node-0", {"zone": "a"}), [pool]) is not found
    found = cache.seen_from(node, [pool])
    assert cache.seen_from(node, [kept(machine(0))]) is not found
    found = cache.seen_from(node, [pool])
    assert cache.seen_from(node, [pool, kept(machine(1))]) is not found


def test_many_nodes_are_each_answered_right_though_only_a_few_are_kept():
    cache, nodes = OffersCache(ALL), [Node(f"node-{number}") for number in range(9)]
    pools = {node.name: kept(machine(number)) for number, node in enumerate(nodes)}

    for _ in range(2):
        for node in nodes:
            (found,) = cache.seen_from(node, [pools[node.name]]).pools
            assert found == restored(pools[node.name])
