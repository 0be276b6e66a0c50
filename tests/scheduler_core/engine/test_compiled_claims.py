"""The cache of compiled claims: claims that ask for the same are compiled once, until the classes change."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodes_in_tables import compiled_claims

from scheduler_core.base.effort import Effort
from scheduler_core.base.errors import InvalidClaim, SelectorError
from scheduler_core.base.features import ALL
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.compiled_claims import CompiledClaims
from scheduler_core.engine.solve.planner import Planner
from scheduler_core.model.claim import DeviceClass
from scheduler_core.state.testing import ANY, claim, request

COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=3)


def asking(counts, name="claim"):
    return claim(*(request(f"r{number}", count=count) for number, count in enumerate(counts)), name=name)


@given(COUNTS, COUNTS)
def test_claims_that_ask_for_the_same_are_compiled_once_whatever_they_are_called(one, other):
    cache = compiled_claims()

    first, again, second = (
        cache.of([asking(counts, name)]) for counts, name in ((one, "a"), (one, "b"), (other, "c"))
    )

    assert first is again
    assert (first is second) is (one == other)


@given(COUNTS)
def test_a_claim_is_compiled_alike_whether_it_was_met_before_or_not(counts):
    cache, mine = compiled_claims(), asking(counts)

    assert cache.of_new([mine]) is cache.of([mine]) is cache.of([mine])
    assert cache.of([mine, mine]) is not cache.of([mine])


def test_other_classes_compile_claims_anew_and_tell_those_who_keep_them():
    forgotten = []
    cache = CompiledClaims(Planner(Effort()), SelectorCache(), ALL, lambda: forgotten.append("all"))
    cache.set_classes({"any": ANY})
    before = cache.of([asking([1])])
    told = len(forgotten)

    cache.set_classes({"any": DeviceClass(name="any", selectors=("false",))})

    assert cache.of([asking([1])]) is not before
    assert len(forgotten) == told + 1


def test_when_many_different_claims_came_the_cache_is_cleared_and_says_so():
    forgotten = []
    cache = CompiledClaims(Planner(Effort()), SelectorCache(), ALL, lambda: forgotten.append("all"))
    cache.set_classes({"any": ANY})
    told = len(forgotten)

    for number in range(1000):
        cache.of_new([claim(request(f"r{number}"))])

    assert 0 < len(forgotten) - told < 10


def test_an_unknown_class_is_refused_each_time():
    unknown = request("r")
    unknown = replace(unknown, alternatives=(replace(unknown.alternatives[0], class_name="none"),))
    cache = compiled_claims()

    for _ in range(2):
        with pytest.raises(InvalidClaim, match="none"):
            cache.of([claim(unknown)])


def test_a_selector_that_does_not_compile_is_refused_with_the_request_that_has_it():
    with pytest.raises(SelectorError, match="request r"):
        compiled_claims().of([claim(request("r", "device."))])
