"""No claim takes more than the bound: small claims that any user may make, and random ones of the whole API.

Steps are counted, never time. The named claims once took seconds to minutes; few steps must do.
"""

from random import Random

import pytest
from dgx_claims import CLAIMS, NODE, dgx_engine, random_claims
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.base.effort import DECISION
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.model.result import Allocation, Undecided

FEW = 1000


@pytest.mark.parametrize("policy", [FIRST_FIT, BEST_FIT], ids=["first-fit", "best-fit"])
@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_that_once_took_seconds_takes_few_steps(name, policy):
    engine = dgx_engine(policy)
    claims, fits = CLAIMS[name]
    before = engine.effort.steps

    answer = engine.decide(claims, NODE)

    assert isinstance(answer, Allocation) == fits
    assert not isinstance(answer, Undecided)
    assert engine.effort.steps - before < FEW


@pytest.mark.parametrize(
    "claims", [pytest.param(claims, id=name) for name, (claims, fits) in CLAIMS.items() if not fits]
)
def test_the_reasons_for_a_refusal_are_bounded_too(claims):
    engine = dgx_engine(FIRST_FIT)
    before = engine.effort.steps

    refusal = engine.allocate(claims, NODE)

    assert refusal.reasons
    assert refusal.conflict
    assert engine.effort.steps - before < 3 * DECISION


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**48))
def test_no_generated_claim_of_the_whole_api_exceeds_the_bound_silently(seed):
    engine = dgx_engine(FIRST_FIT)
    claims = random_claims(Random(seed))
    before = engine.effort.steps

    answer = engine.decide(claims, NODE)

    taken = engine.effort.steps - before
    assert taken <= DECISION or isinstance(answer, Undecided)
    assert taken <= 2 * DECISION, "the bound ends the search at once"
