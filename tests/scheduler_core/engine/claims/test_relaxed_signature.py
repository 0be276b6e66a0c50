"""Relaxed signatures: weaker than the claims they come from, in what each request wants and in what fits."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from random_clusters import claim
from searched_nodes import SEEDS, SETTINGS, settled, walk

from scheduler_core.engine.claims.claim_signature import signature_of
from scheduler_core.engine.claims.relaxed_signature import relaxed_signatures
from scheduler_core.model.claim import DistinctAttribute, MatchAttribute, Request
from scheduler_core.model.device import QualifiedName
from scheduler_core.state import testing
from scheduler_core.state.testing import ANY, DRIVER, request

MANY = settings(SETTINGS, max_examples=300)
CLAIMS = SEEDS.map(lambda seed: [claim(Random(seed + number), f"c{number}") for number in range(2)])


def counted(requests, shared):
    return [
        options
        for options in requests
        if all(one.count and not one.admin_access and one.filter not in shared for one in options)
    ]


@MANY
@given(CLAIMS, st.integers(0, 3), st.sets(st.integers(0, 4), max_size=2))
def test_a_relaxed_request_takes_what_any_alternative_takes_in_the_least_number(claims, first, shared):
    signature = signature_of(claims, {"any": ANY})
    expected = counted(signature.requests[first:], shared)

    found = relaxed_signatures(signature, first, shared)

    assert bool(found) is bool(expected)
    for one in found:
        for (relaxed,), options in zip(one.signature.requests, expected, strict=True):
            assert relaxed.count == min(option.count for option in options)
            assert set(one.unions[relaxed.filter]) == {option.filter for option in options}
            assert relaxed.claim == options[0].claim


@MANY
@given(CLAIMS, st.integers(0, 3))
def test_a_relaxed_request_keeps_only_rules_that_bind_every_alternative(claims, first):
    signature = signature_of(claims, {"any": ANY})

    for one in relaxed_signatures(signature, first, ()):
        kept = [signature.rules[number] for number in one.rules]
        assert list(one.signature.rules) == kept
        assert all(isinstance(rule, MatchAttribute | DistinctAttribute) for rule in kept)
        assert sum(isinstance(rule, DistinctAttribute) for rule in kept) <= 1
        for (relaxed,), options in zip(
            one.signature.requests, counted(signature.requests[first:], ()), strict=True
        ):
            for rule in relaxed.rules:
                assert all(one.rules[rule] in option.rules for option in options)


@MANY
@given(CLAIMS)
def test_the_last_relaxation_has_no_rules(claims):
    found = relaxed_signatures(signature_of(claims, {"any": ANY}), 0, ())

    assert [bool(one.rules) for one in found] == [True, False][2 - len(found) :]


def test_a_rule_that_binds_one_alternative_only_does_not_bind_the_relaxed_request():
    either = tuple(replace(request("b").alternatives[0], name=f"b/{letter}") for letter in "xy")
    rule = MatchAttribute(QualifiedName(f"{DRIVER}/rail"), ("a", "b/x"))
    wanted = testing.claim(request("a"), Request(name="b", alternatives=either), constraints=[rule])

    with_rules, _ = relaxed_signatures(signature_of([wanted], {"any": ANY}), 0, ())

    assert [options[0].rules for options in with_rules.signature.requests] == [(0,), ()]


@MANY
@given(SEEDS)
def test_relaxed_claims_fit_wherever_the_claims_fit(seed):
    found, chance = settled(seed), Random(seed)
    if found is None:
        return
    assignment = found.assignment()
    first = walk(found, chance, assignment, chance.randint(0, 2))
    if first == len(found.space.requests):
        return

    if not found.compiled.may_fit(found.node_view, first, assignment.states):
        assert not found.has_answer(assignment, first)
