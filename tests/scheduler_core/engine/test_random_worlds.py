"""The engine against the exhaustive search in random worlds of the v1 API (tests/fakes/random_worlds).

``make explore-worlds WORLDS=100000`` tries as many fresh ones.
"""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_worlds import world
from random_worlds.decided import disagreement


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**48))
def test_an_engine_decides_as_trying_everything_does(seed):
    assert disagreement(world(seed)) is None
