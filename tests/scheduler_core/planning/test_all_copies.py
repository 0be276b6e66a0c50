"""What makes all copies fit, nodes to add and claims to end, against oracles that try everything."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, count

import pytest
from cut_boards import clusters, fits, in_rack_a, node_pool, nodes_of, wants
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation
from scheduler_core.planning import adding
from scheduler_core.planning.ending_for_all import ending_for_all
from scheduler_core.planning.node_kinds import Buyable, NodeKind, node_kinds
from scheduler_core.planning.plan import Where, Workload, plan
from scheduler_core.planning.room import copies
from scheduler_core.state.testing import ANY, held

SMALL = NodeKind(name="small", node=Node("small"), pools=[node_pool("small", 1)])
LARGE = NodeKind(name="large", node=Node("large"), pools=[node_pool("large", 2)])
NOTHING_FITS = NodeKind(name="empty", node=Node("empty"), pools=[node_pool("empty", 0)])


def planned(cluster, claims, number, *kinds, policy=FIRST_FIT, nodes=None):
    where = Where(nodes=nodes or nodes_of(cluster), buyable=Buyable(kinds=kinds))
    workload = Workload(claims=claims, count=number)
    return plan({"one": Engine.of(cluster, policy)}, workload, where, "one")


def placed_by_plain_search(cluster, claims, number):
    """How many copies the plain search places, each on the first node where it fits."""
    for copy in range(number):
        for node in nodes_of(cluster):
            mine = copies(claims, copy + 1)
            found = allocate(mine, cluster, node)
            if isinstance(found, Allocation):
                more = (AllocatedClaim(ref=one.ref, results=found.results[one.ref]) for one in mine)
                cluster = replace(cluster, allocated=(*cluster.allocated, *more))
                break
        else:
            return copy
    return number


def fewest_nodes(cluster, claims, number, boards):
    """How many nodes to add at least, by trying none, one, two."""
    for more in count():
        added = tuple(node_pool(f"new-{one}", boards) for one in range(more))
        if placed_by_plain_search(replace(cluster, pools=(*cluster.pools, *added)), claims, number) == number:
            return more
    raise AssertionError


@settings(max_examples=30)
@given(clusters(nodes=1), st.sampled_from([(4,), (3,), (2, 2), (1, 3), (1,)]), st.integers(1, 5))
def test_the_fewest_nodes_are_added_with_which_the_policy_places_all_copies(cluster, sizes, number):
    claims = [wants(*sizes, together=True)]

    found = planned(cluster, claims, number, SMALL, LARGE)

    expected = {boards: fewest_nodes(cluster, claims, number, boards) for boards in (1, 2)}
    if not expected[1]:
        assert found.additions is None
        return
    told = {one.kind: one.count for one in found.additions.options if not one.kind.startswith("like ")}
    assert told == {"small": expected[1], "large": expected[2]}
    assert all(one.is_fewest for one in found.additions.options)
    counts = [one.count for one in found.additions.options]
    assert counts == sorted(counts)
    assert found.additions.is_complete


def most_copies(cluster, node, claims, number, ended):
    """How many copies fit together on a node once some claims have ended, up to a number."""
    fitting = 0
    while fitting < number:
        more = [one for copy in range(fitting + 1) for one in copies(claims, copy + 1)]
        if not fits(cluster, node, more, ended):
            break
        fitting += 1
    return fitting


def fewest_in_all(cluster, claims, number):
    """How many claims must end at least, by trying every set of claims of all nodes."""
    refs = [one.ref for one in cluster.allocated]
    for total in range(len(refs) + 1):
        for ended in combinations(refs, total):
            room = sum(most_copies(cluster, node, claims, number, ended) for node in nodes_of(cluster))
            if room >= number:
                return total
    return None


@settings(max_examples=25, deadline=None)
@given(clusters(boards=1), st.sampled_from([(4,), (3,), (2,), (1, 3)]), st.integers(2, 4))
def test_the_fewest_claims_end_over_all_nodes_together(cluster, sizes, number):
    claims = [wants(*sizes)]

    found = ending_for_all(Engine.of(cluster, FIRST_FIT), claims, number, nodes_of(cluster))

    expected = fewest_in_all(cluster, claims, number)
    assert found.is_complete
    assert (None if found.nodes is None else found.total) == expected
    for one in found.nodes or ():
        (node,) = (node for node in nodes_of(cluster) if node.name == one.ending.node)
        ended = {held_.ref for held_ in one.ending.ended}
        assert most_copies(cluster, node, claims, number, ended) >= one.copies


def full_of_small_parts(*nodes):
    allocated = [
        held(f"b0-1-at-{place}", by=f"{node}-{place}", pool_name=node) for node in nodes for place in range(4)
    ]
    pools = tuple(node_pool(node, 1) for node in nodes)
    return Cluster(pools=pools, classes={"any": ANY}, allocated=tuple(allocated))


def test_what_ends_for_all_copies_is_on_several_nodes_and_no_copy_that_fits_is_moved():
    full = full_of_small_parts("n1", "n2")
    cluster = replace(full, pools=(*full.pools, node_pool("n3", 1)))

    found = planned(cluster, [wants(4)], 3, policy=BEST_FIT)

    assert found.outcomes["one"].placement.placed == 1
    assert [(one.ending.node, one.copies) for one in found.ending.nodes] == [("n1", 1), ("n2", 1)]
    assert (found.ending.total, found.ending.placed) == (8, 3)
    assert found.ending.moves == {}


def test_an_ended_claim_moves_where_it_still_fits():
    full = full_of_small_parts("n1", "n2")
    cluster = replace(
        full,
        pools=(*full.pools, node_pool("n3", 1)),
        allocated=(*full.allocated, held("b0-2-at-0", by="stays", pool_name="n3")),
    )
    specs = {one.ref: replace(wants(1), ref=one.ref) for one in full.allocated}

    found = ending_for_all(
        Engine.of(cluster, BEST_FIT),
        [wants(4)],
        2,
        nodes_of(cluster),
        kept={ClaimRef("default", "stays")},
        specs=specs,
    )

    assert found.total == 8
    assert set(found.moves.values()) == {"n3"}
    assert len(found.moves) == 2


def test_with_one_copy_missing_there_is_nothing_to_say_about_all():
    found = planned(full_of_small_parts("n1"), [wants(4)], 1, policy=BEST_FIT)

    assert found.ending is None
    assert len(found.freeings.options) == 1
    assert [(one.kind, one.count) for one in found.additions.options] == [("like n1", 1)]


def test_at_the_bound_of_questions_what_ends_is_right_and_may_not_be_the_fewest():
    cluster = full_of_small_parts("n1", "n2")
    engine = Engine.of(cluster, BEST_FIT)

    found = ending_for_all(engine, [wants(2)], 3, nodes_of(cluster), questions=0)
    too_many = ending_for_all(engine, [wants(2)], 1001, nodes_of(cluster))

    assert (found.nodes, found.is_complete) == (None, False)
    assert (too_many.nodes, too_many.is_complete) == (None, False)


def test_a_kind_on_which_no_copy_fits_is_not_named():
    found = planned(full_of_small_parts("n1"), [wants(4)], 2, NOTHING_FITS, SMALL, policy=BEST_FIT)

    assert [(one.kind, one.count) for one in found.additions.options] == [("small", 2), ("like n1", 2)]


@pytest.mark.parametrize(("name", "bound"), [("NODES", 2), ("QUESTIONS", 2)])
def test_at_a_bound_the_least_number_of_nodes_is_told(monkeypatch, name, bound):
    monkeypatch.setattr(adding, name, bound)

    (found,) = planned(full_of_small_parts("n1"), [wants(4)], 5, policy=BEST_FIT).additions.options

    assert (found.kind, found.count, found.at_least, found.is_fewest) == ("like n1", None, 5, False)


def test_more_kinds_than_are_tried_are_told(monkeypatch):
    monkeypatch.setattr(adding, "KINDS", 1)

    found = planned(full_of_small_parts("n1"), [wants(4)], 2, SMALL, LARGE, policy=BEST_FIT).additions

    assert [one.kind for one in found.options] == ["small"]
    assert not found.is_complete


def test_nodes_of_equal_hardware_are_one_kind_and_shared_devices_make_none():
    cluster = Cluster(
        pools=(node_pool("n1", 1), node_pool("n2", 2), node_pool("n3", 1), in_rack_a(node_pool("n4", 1))),
        classes={"any": ANY},
    )
    nodes = [Node("n1"), Node("n2"), Node("n3"), Node("n4", {"rack": "a"})]

    found = node_kinds(Engine.of(cluster).state, nodes, Buyable(names={"n2": "the large one"}))

    assert [(one.name, [pool.id.name for pool in one.pools]) for one in found] == [
        ("like n1", ["n1"]),
        ("the large one", ["n2"]),
    ]


def test_a_plan_with_nodes_on_trial_changes_nothing():
    cluster = full_of_small_parts("n1")
    engine = Engine.of(cluster, BEST_FIT)
    before = engine.decide_somewhere([wants(1)], None), engine.state.views.names

    plan({"one": engine}, Workload(claims=[wants(4)], count=3), Where(nodes=nodes_of(cluster)), "one")

    assert (engine.decide_somewhere([wants(1)], None), engine.state.views.names) == before
    assert engine.state.views.node_view(Node("n1")).components[0].state.bit_count() == 4
