"""Laws on random groups: an answer exactly where pod after pod some choice serves the group."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pods_in_turn import Pods, every_allocation, fits_in_turn, with_held
from random_clusters import NODES, all_pools, claim, situation_of

from scheduler_core.base.errors import CoreError
from scheduler_core.engine.policy.policies import FIRST_FIT, best_fit
from scheduler_core.engine.together.decide import decide_together
from scheduler_core.engine.together.values import GroupMember, Unfit
from scheduler_core.model.claim import ClaimRef, ExclusiveScope
from scheduler_core.model.nodes import AllNodes, admits
from scheduler_core.model.result import Undecided

SEEDS = st.integers(0, 2**32)
LAWS = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
POLICIES = pytest.mark.parametrize("policy", [FIRST_FIT, best_fit()], ids=["first-fit", "best-fit"])
MOST_DEVICES = 12


def small_claim(chance, name, model):
    """A claim with at most two requests, like the model where there is one."""
    if model is not None and chance.random() < 0.6:
        return replace(model, ref=ClaimRef("default", name))
    while True:
        found = claim(chance, name)
        if len(found.requests) <= 2:
            return replace(found, constraints=tuple(map(simpler, found.constraints)))


def simpler(constraint):
    """Of exclusive scopes, those that mean the same whichever member is served first."""
    if isinstance(constraint, ExclusiveScope):
        return ExclusiveScope(constraint.scopes[:1])
    return constraint


def without_exclusion(claim):
    kept = tuple(one for one in claim.constraints if not isinstance(one, ExclusiveScope))
    return replace(claim, constraints=kept)


def without_admin_access(claim):
    requests = []
    for one in claim.requests:
        options = tuple(replace(option, admin_access=False) for option in one.alternatives)
        requests.append(replace(one, alternatives=options))
    return replace(claim, requests=tuple(requests))


def group_of(chance):
    """A cluster, 2 to 4 members of which some share a claim, and the least number that is needed."""
    situation = situation_of(chance)
    if chance.random() < 0.5:
        situation.pools[:] = [one for one in all_pools(chance) if sized(one)] or situation.pools
    assume(all(map(sized, situation.pools)))
    model = small_claim(chance, "model", None)
    shared = small_claim(chance, "shared", model) if chance.random() < 0.3 else None
    if shared is not None:
        # Whether claims of one pod exclude each other depends on which of them was there first.
        model, shared = without_exclusion(model), without_exclusion(shared)
    members = []
    for number in range(chance.choice([2, 2, 3, 4])):
        mine = [small_claim(chance, f"c{number}", model)] if chance.random() < 0.85 else []
        if shared is not None:
            mine = [without_exclusion(one) for one in mine] + ([shared] if chance.random() < 0.6 else [])
        members.append(GroupMember(id=f"m{number}", claims=tuple(mine), needs=chance.choice([1, 1, 1, 2])))
    if any(isinstance(rule, ExclusiveScope) for one in members for c in one.claims for rule in c.constraints):
        # A device that admin access watches excludes others, or is excluded, as of who was there first.
        members = [replace(one, claims=tuple(map(without_admin_access, one.claims))) for one in members]
    room = Pods({node.name: chance.choice([1, 2, 2, 3, 9]) for node in NODES})
    minimum = chance.choice([len(members), len(members), len(members) - 1, 1])
    return situation, members, room, minimum


def sized(pool):
    return len(pool.devices) <= MOST_DEVICES


def answer_to(situation, members, room, minimum, policy):
    engine = situation.engine(policy)
    before = engine.state.seen_from(NODES[0]), engine.state.seen_from(NODES[1])
    found = decide_together(engine, members, room, NODES, minimum=minimum)
    assert (engine.state.seen_from(NODES[0]), engine.state.seen_from(NODES[1])) == before
    assert +room.taken == {}
    return found


def devices(allocation, claims):
    return [
        {(one.request, str(one.device), str(one.consumed)) for one in allocation.results[claim.ref]}
        for claim in claims
    ]


@POLICIES
@LAWS
@given(seed=SEEDS)
def test_a_group_gets_devices_exactly_where_some_choice_pod_after_pod_serves_it(policy, seed):
    situation, members, room, minimum = group_of(Random(seed))
    try:
        found = answer_to(situation, members, room, minimum, policy)
        expected = fits_in_turn(members, situation.cluster(), NODES, room, minimum)
    except CoreError:
        return

    assume(not isinstance(found, Undecided))
    assert isinstance(found, tuple) is expected
    assert isinstance(found, tuple | Unfit)


@POLICIES
@LAWS
@given(seed=SEEDS)
def test_every_answer_can_be_written_pod_after_pod(policy, seed):
    situation, members, room, minimum = group_of(Random(seed))
    try:
        found = answer_to(situation, members, room, minimum, policy)
    except CoreError:
        return
    if not isinstance(found, tuple):
        return

    assert len(found) >= minimum
    cluster, selections = situation.cluster(), {}
    for placed in found:
        node = next(one for one in NODES if one.name == placed.allocation.node)
        room.take(placed.member, node)
        assert placed.allocation.results.keys() == {one.ref for one in placed.member.claims}
        mine = [one for one in placed.member.claims if one.ref not in selections]
        assert all(admits(selections.get(one.ref, AllNodes()), node) for one in placed.member.claims)
        written = list(every_allocation(mine, cluster, node, only=placed.allocation))
        assert devices(placed.allocation, mine) in [devices(one, mine) for one in written]
        cluster = with_held(cluster, mine, placed.allocation)
        selections |= placed.allocation.nodes


@LAWS
@given(seed=SEEDS)
def test_the_most_members_that_fit_are_placed(seed):
    situation, members, room, _ = group_of(Random(seed))
    try:
        found = answer_to(situation, members, room, 0, FIRST_FIT)
        assume(isinstance(found, tuple) and len(found) < len(members))
        one_more = answer_to(situation, members, room, len(found) + 1, FIRST_FIT)
        assume(not isinstance(one_more, Undecided))
        more = fits_in_turn(members, situation.cluster(), NODES, room, len(found) + 1)
    except CoreError:
        return

    assert not more
