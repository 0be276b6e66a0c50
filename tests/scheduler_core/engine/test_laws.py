"""Laws of allocation, on random pools with counters, groups, lists, matches and differences."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT, best_fit
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.result import Allocation
from tangram.bench.random_questions import FAMILIES, random_question
from tangram.conformance.situation import read_situation
from tangram.conformance.validity import violations

SEEDS = st.integers(0, 2**32)
LAWS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
POLICIES = pytest.mark.parametrize("policy", [FIRST_FIT, best_fit()], ids=["first-fit", "best-fit"])


def situation_of(family, seed):
    return read_situation(random_question(family, seed, 0), by_name=False)


@POLICIES
@pytest.mark.parametrize("family", FAMILIES)
@LAWS
@given(seed=SEEDS)
def test_every_answer_is_valid_and_none_is_missed_that_the_plain_search_finds(policy, family, seed):
    situation = situation_of(family, seed)
    (node,) = situation.nodes
    engine = Engine.of(situation.cluster, policy)

    answer = engine.allocate(situation.claims, node)

    plain = allocate(situation.claims, situation.cluster, node)
    assert isinstance(answer, Allocation) is isinstance(plain, Allocation)
    if isinstance(answer, Allocation):
        assert list(violations(answer, situation)) == []


@POLICIES
@pytest.mark.parametrize("family", FAMILIES)
@LAWS
@given(seed=SEEDS)
def test_allocate_then_release_changes_nothing(policy, family, seed):
    situation = situation_of(family, seed)
    (node,) = situation.nodes
    engine = Engine.of(situation.cluster, policy)
    before = engine.allocate(situation.claims, node)
    if not isinstance(before, Allocation):
        return

    for ref, results in before.results.items():
        engine.state.hold(AllocatedClaim(ref=ref, results=results))
    for ref in before.results:
        engine.state.release(ref)

    assert engine.allocate(situation.claims, node) == before


@POLICIES
@pytest.mark.parametrize("family", FAMILIES)
@LAWS
@given(seed=SEEDS)
def test_the_order_in_which_devices_were_taken_never_matters(policy, family, seed):
    situation = situation_of(family, seed)
    (node,) = situation.nodes
    mixed = [
        AllocatedClaim(ref=replace(claim.ref, name=f"{claim.ref.name}-{number}"), results=(result,))
        for claim in situation.cluster.allocated
        for number, result in enumerate(claim.results)
    ]
    Random(seed).shuffle(mixed)
    shuffled = replace(situation.cluster, allocated=tuple(mixed))

    answers = [
        Engine.of(cluster, policy).allocate(situation.claims, node)
        for cluster in (situation.cluster, shuffled)
    ]

    assert isinstance(answers[0], Allocation) is isinstance(answers[1], Allocation)
    if isinstance(answers[0], Allocation):
        assert answers[0] == answers[1]
