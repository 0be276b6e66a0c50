"""Every remedy makes the claims fit, and no fewer claims would do: the plain search is the oracle."""

from collections import Counter
from dataclasses import replace
from itertools import combinations
from math import inf
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_clusters import NODES, situation_of

from scheduler_core.advice.advise import advise
from scheduler_core.advice.remedies import DropConstraint, EndClaims, Together, changed
from scheduler_core.base.errors import CoreError
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.result import Allocation, Unallocatable

SEEDS = st.integers(0, 2**48)
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
NODE = NODES[0]


def refused(seed):
    """Return a situation in which the claims do not fit on the first node, None where they do."""
    situation = situation_of(Random(seed))
    try:
        answer = allocate(situation.claims, situation.cluster(), NODE, most=inf)
    except CoreError:
        return None
    return situation if isinstance(answer, Unallocatable) else None


def fits(claims, cluster, node):
    try:
        return isinstance(allocate(claims, cluster, node, most=inf), Allocation)
    except CoreError:
        return False


def ending(some):
    return EndClaims(node=NODE.name, held=some, is_fewest=True)


@SETTINGS
@given(SEEDS)
def test_the_plain_search_finds_devices_once_a_remedy_is_applied(seed):
    situation = refused(seed)
    if situation is None:
        return
    cluster = situation.cluster()

    for remedy in advise(situation.claims, situation.engine(), [NODE], NODES[1:]):
        claims, after = changed(remedy, situation.claims, cluster)
        (node,) = (one for one in NODES if one.name == remedy.node)

        assert fits(claims, after, node), remedy


@SETTINGS
@given(SEEDS)
def test_no_fewer_claims_have_to_end_than_the_remedy_names(seed):
    situation = refused(seed)
    if situation is None:
        return
    cluster = situation.cluster()
    found = advise(situation.claims, situation.engine(), [NODE])
    (named,) = [one for one in found if isinstance(one, EndClaims)] or [None]

    sizes = [
        size
        for size in range(1, len(cluster.allocated) + 1)
        for some in combinations(cluster.allocated, size)
        if fits(
            *changed(EndClaims(node=NODE.name, held=some, is_fewest=True), situation.claims, cluster), NODE
        )
    ]

    assert (None if named is None else len(named.held)) == min(sizes, default=None)
    assert named is None or named.is_fewest


@SETTINGS
@given(SEEDS)
def test_the_state_is_as_before_once_remedies_were_looked_for(seed):
    situation = refused(seed)
    if situation is None:
        return
    engine = situation.engine()
    before = engine.state.seen_from(NODE)

    advise(situation.claims, engine, [NODE], NODES[1:])

    after = engine.state.seen_from(NODE)
    assert after.pools == before.pools
    assert Counter(one.ref for one in after.allocated) == Counter(one.ref for one in before.allocated)
    assert isinstance(engine.allocate(situation.claims, NODE), Unallocatable)


@SETTINGS
@given(SEEDS)
def test_of_two_changes_neither_is_enough_by_itself_and_no_single_change_was_found(seed):
    situation = refused(seed)
    if situation is None:
        return
    cluster = situation.cluster()
    found = advise(situation.claims, situation.engine(), [NODE], NODES[1:])

    both = [one for one in found if isinstance(one, Together)]
    assert not both or len(both) == len(found)
    for remedy in both:
        (there,) = (one for one in NODES if one.name == remedy.node)
        first, second = remedy.steps
        assert not fits(*changed(first, situation.claims, cluster), there), remedy
        assert not fits(*changed(second, situation.claims, cluster), NODE), remedy


@SETTINGS
@given(SEEDS)
def test_where_nothing_is_advised_no_constraint_less_makes_room_with_any_claims_ended(seed):
    situation = refused(seed)
    if situation is None or advise(situation.claims, situation.engine(), NODES):
        return
    free = replace(situation.cluster(), allocated=())

    for claim in situation.claims:
        for place, constraint in enumerate(claim.constraints):
            looser = DropConstraint(node=NODE.name, claim=claim.ref, constraint=constraint, place=place)
            claims, _ = changed(looser, situation.claims, free)
            assert not any(fits(claims, free, node) for node in NODES), looser
