"""The engine against the plain search, on random clusters with everything the tables cover and more."""

from math import inf
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_clusters import KIND, NODES, claim, pool, rarely, situation_of

from scheduler_core.base.errors import CoreError
from scheduler_core.engine.policy.policies import best_fit
from scheduler_core.explain.allocate import allocate, allocate_somewhere, feasible_nodes
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.result import Allocation
from scheduler_core.rules.scopes import Preferred, SameSets
from scheduler_core.search import depth_first
from scheduler_core.search.problem import problem_of


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except CoreError as error:
        return type(error), str(error)


@pytest.fixture(autouse=True, scope="module")
def oracle_without_a_bound():
    """The plain search is the oracle here: it may take as many steps as it needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depth_first, "DECISION", inf)
        yield


# A seed makes the situation: drawing every detail would take far longer than answering.
SEEDS = st.integers(0, 2**48)
SETTINGS = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(SEEDS)
def test_every_answer_is_the_plain_searchs_answer(seed):
    situation = situation_of(Random(seed))
    engine, cluster = situation.engine(), situation.cluster()

    for node in NODES:
        expected = outcome(allocate, situation.claims, cluster, node)

        assert outcome(engine.allocate, situation.claims, node) == expected
        assert outcome(engine.allocate, situation.claims, node) == expected


@settings(SETTINGS, max_examples=150)
@given(SEEDS)
def test_the_nodes_that_fit_are_those_of_the_plain_search(seed):
    situation = situation_of(Random(seed))
    engine, cluster = situation.engine(), situation.cluster()

    for _ in range(2):
        found = outcome(engine.feasible_nodes, situation.claims, NODES)
        somewhere = outcome(engine.allocate_somewhere, situation.claims, NODES)

        assert found == outcome(feasible_nodes, situation.claims, cluster, NODES)
        assert somewhere == outcome(allocate_somewhere, situation.claims, cluster, NODES)


@settings(SETTINGS, max_examples=100)
@given(SEEDS)
def test_what_is_kept_between_calls_never_shows(seed):
    chance = Random(seed)
    situation = situation_of(chance)
    engine = situation.engine()
    for _ in range(5):
        one, cluster = claim(chance, f"x{chance.randrange(3)}"), situation.cluster()

        answer = outcome(engine.allocate_somewhere, [one], NODES)

        assert answer == outcome(allocate_somewhere, [one], cluster, NODES)
        assert outcome(engine.feasible_nodes, [one], NODES) == outcome(feasible_nodes, [one], cluster, NODES)
        if isinstance(answer, Allocation):
            taken = AllocatedClaim(ref=one.ref, results=answer.results[one.ref])
            engine.state.hold(taken)
            situation.held = [held for held in situation.held if held.ref != one.ref] + [taken]
        if situation.held and chance.random() < 0.5:
            engine.state.release(situation.held.pop(chance.randrange(len(situation.held))).ref)
        if rarely(chance, 3):
            number = chance.randrange(len(situation.pools))
            old = situation.pools[number]
            situation.pools[number] = pool(chance, old.id.driver, old.id.name, old.seen_from[0])
            engine.state.set_pool(situation.pools[number])


def check(answer, claims, cluster, node):
    """Judge an answer by the ledger and the rules, whoever found it."""
    problem = problem_of(claims, cluster, node)
    left = {ref: list(results) for ref, results in answer.results.items()}
    for request in problem.requests:
        results = left[claims[request.claim].ref]
        alternative = next(
            alternative for alternative in request.alternatives if alternative.name == results[0].request
        )
        mine = [results.pop(0) for _ in range(alternative.count or len(alternative.candidates))]
        assert all(one.request == alternative.name for one in mine)
        for one in mine:
            candidate = next(c for c in alternative.candidates if offered(c, cluster) == one.device)
            assert candidate.error is None
            assert candidate.barred is None
            if not alternative.admin_access:
                ledger = problem.ledgers[candidate.offer.pool]
                ledger.take(candidate.offer.device.name, alternative.name, candidate.share)
            for rule in asked(problem, alternative):
                assert rule.admits(candidate.offer.device)
                rule.add(candidate.offer.device)
    assert not any(left.values())
    assert all(rule.is_met() for rule in problem.rules if isinstance(rule, SameSets))


def asked(problem, alternative):
    """Yield the rules that must hold: a preferred scope is no must."""
    for number in alternative.rules:
        rule = problem.rules[number]
        if isinstance(rule, SameSets):
            yield rule.seat(alternative.name)
        elif not isinstance(rule, Preferred):
            yield rule


def offered(candidate, cluster):
    return cluster.pools[candidate.offer.pool].id_of(candidate.offer.device)


@pytest.mark.parametrize("demands", [None, {f"{KIND} == 'large'": 3.0, f"{KIND} == 'small'": 1}])
@settings(SETTINGS, max_examples=120)
@given(seed=SEEDS)
def test_best_fit_finds_a_valid_answer_whenever_there_is_one(demands, seed):
    situation = situation_of(Random(seed))
    engine, cluster = situation.engine(policy=best_fit(demands)), situation.cluster()

    for node in NODES:
        expected = outcome(allocate, situation.claims, cluster, node)
        answer = outcome(engine.allocate, situation.claims, node)

        assert isinstance(answer, Allocation) == isinstance(expected, Allocation)
        if isinstance(answer, Allocation):
            check(answer, situation.claims, cluster, node)
        else:
            assert answer == expected
