"""Constraints that compare where devices stand: same set, preferred scope, exclusive scope."""

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.engine.engine import Engine
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import AllocatedClaim, ExclusiveScope, PreferScope, SameScope
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.names import qualified
from scheduler_core.model.result import Allocation, Cause
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

SWITCH = qualified("pcieSwitch", DRIVER)
ROOT = qualified("pcieRoot", DRIVER)
NUMA = qualified("numa", DRIVER)
KIND = qualified("kind", DRIVER)


def of(kind):
    return f'device.attributes["{DRIVER}"].kind == "{kind}"'


def placed(kind, number, **scopes):
    return device(f"{kind}-{number}", attributes={"kind": kind, **scopes})


def cluster(*devices, allocated=()):
    return Cluster(pools=(pool(*devices),), classes={"any": ANY}, allocated=tuple(allocated))


def names(answer, ref):
    return [one.device.device for one in answer.results[ref]]


def pairs_of(count, constraint):
    asked = (request("a", of("a"), count=count), request("b", of("b"), count=count))
    return claim(*asked, constraints=[constraint])


SAME = SameScope((SWITCH, ROOT), (("a",), ("b",)))


def test_devices_of_both_groups_stand_below_the_same_switches():
    devices = [placed("a", n, pcieSwitch=f"s{n}") for n in range(4)]
    devices += [placed("b", n, pcieSwitch=f"s{3 - n}") for n in range(2)]
    wanted = pairs_of(2, SAME)

    answer = allocate([wanted], cluster(*devices), NODE)

    assert names(answer, wanted.ref) == ["a-2", "a-3", "b-0", "b-1"]


def test_the_root_complex_is_compared_where_one_candidate_tells_no_switch():
    devices = [placed("a", 0, pcieSwitch="s0", pcieRoot="r0"), placed("b", 0, pcieRoot="r0")]
    wanted = pairs_of(1, SAME)

    assert isinstance(allocate([wanted], cluster(*devices), NODE), Allocation)


def test_a_device_that_tells_no_scope_never_matches_another_such_device():
    wanted = pairs_of(1, SAME)

    answer = allocate([wanted], cluster(placed("a", 0), placed("b", 0)), NODE)

    assert answer.cause is Cause.CONSTRAINT_UNSATISFIED


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 3), max_size=5),
    st.lists(st.integers(0, 3), max_size=5),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_equal_sets_are_found_whenever_they_exist(left, right, few, many):
    devices = [placed("a", n, pcieSwitch=f"s{scope}") for n, scope in enumerate(left)]
    devices += [placed("b", n, pcieSwitch=f"s{scope}") for n, scope in enumerate(right)]
    wanted = claim(request("a", of("a"), count=few), request("b", of("b"), count=many), constraints=[SAME])

    answer = allocate([wanted], cluster(*devices), NODE)

    possible = any(
        set(one) == set(other) for one, other in product(combinations(left, few), combinations(right, many))
    )
    assert isinstance(answer, Allocation) == possible


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        ([("s0", 0), ("s1", 0), ("s2", 1), ("s2", 1)], ["a-2", "a-3"]),
        ([("s0", 0), ("s1", 1), ("s2", 1), ("s3", 2)], ["a-1", "a-2"]),
        ([("s0", 0), ("s1", 1), ("s2", 2), ("s3", 3)], ["a-0", "a-1"]),
    ],
    ids=["one switch", "one NUMA node", "the machine"],
)
def test_the_closest_scope_that_holds_all_is_preferred(scopes, expected):
    devices = [placed("a", n, pcieSwitch=switch, numa=numa) for n, (switch, numa) in enumerate(scopes)]
    wanted = claim(request("a", count=2), constraints=[PreferScope((SWITCH, NUMA))])

    assert names(allocate([wanted], cluster(*devices), NODE), wanted.ref) == expected


def test_an_exclusive_claim_takes_no_scope_in_which_another_claim_has_a_rival():
    devices = [placed("a", n, pcieSwitch=f"s{n // 2}") for n in range(4)]
    wanted = claim(request("a"), constraints=[ExclusiveScope((SWITCH,), (), KIND, ("a",))])

    answer = allocate([wanted], cluster(*devices, allocated=[held("a-0")]), NODE)

    assert names(answer, wanted.ref) == ["a-2"]


def test_a_device_of_another_kind_is_no_rival():
    devices = [placed("a", 0, pcieSwitch="s0"), placed("b", 0, pcieSwitch="s0")]
    wanted = claim(request("a", of("a")), constraints=[ExclusiveScope((SWITCH,), (), KIND, ("a",))])

    assert isinstance(allocate([wanted], cluster(*devices, allocated=[held("b-0")]), NODE), Allocation)


def test_an_exclusive_claim_keeps_later_claims_out_of_its_scopes():
    devices = [placed("a", n, pcieSwitch=f"s{n // 2}") for n in range(4)]
    before = held("a-0")
    mine = AllocatedClaim(
        ref=before.ref, results=before.results, exclusive=(ExclusiveScope((SWITCH,), (), KIND, ("a",)),)
    )
    wanted = claim(request("a", count=3))

    answer = allocate([wanted], cluster(*devices, allocated=[mine]), NODE)

    assert answer.cause is Cause.INSUFFICIENT
    later = claim(request("a", count=2))
    assert names(allocate([later], cluster(*devices, allocated=[mine]), NODE), later.ref) == ["a-2", "a-3"]


def test_devices_of_one_exclusive_claim_do_not_exclude_each_other():
    devices = [placed("a", n, pcieSwitch="s0") for n in range(2)]
    wanted = claim(request("a", count=2), constraints=[ExclusiveScope((SWITCH,))])

    assert isinstance(allocate([wanted], cluster(*devices), NODE), Allocation)


def test_the_engine_answers_scopes_as_the_plain_search_does():
    devices = [placed("a", n, pcieSwitch=f"s{n}") for n in range(4)]
    devices += [placed("b", n, pcieSwitch=f"s{3 - n}") for n in range(2)]
    wanted = pairs_of(2, SAME)
    engine = Engine(ClusterState({"any": ANY}))
    engine.state.set_pool(pool(*devices))

    answer = engine.allocate([wanted], NODE)

    assert answer == allocate([wanted], cluster(*devices), NODE)


def test_the_engine_keeps_later_claims_out_of_exclusive_scopes_until_they_are_released():
    devices = [placed("a", n, pcieSwitch=f"s{n // 2}") for n in range(4)]
    before = held("a-0")
    mine = AllocatedClaim(
        ref=before.ref, results=before.results, exclusive=(ExclusiveScope((SWITCH,), (), KIND, ("a",)),)
    )
    engine = Engine(ClusterState({"any": ANY}))
    engine.state.set_pool(pool(*devices))
    wanted = claim(request("a", count=3))

    engine.state.hold(mine)
    while_held = engine.allocate([wanted], NODE)
    engine.state.release(mine.ref)

    assert while_held.cause is Cause.INSUFFICIENT
    assert isinstance(engine.allocate([wanted], NODE), Allocation)
