"""The smallest set of requests that do not fit together."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.errors import SelectorError
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import ClaimRef, MatchAttribute
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.names import qualified
from scheduler_core.model.refusal import RequestOf
from scheduler_core.model.result import Allocation
from scheduler_core.search.smallest_conflict import only, smallest_conflict
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

COLOUR = qualified("colour", DRIVER)


def colour(name):
    return f"device.attributes['{DRIVER}'].colour == '{name}'"


def fits_on(*devices, allocated=()):
    cluster = Cluster(pools=(pool(*devices),), classes={"any": ANY}, allocated=tuple(allocated))
    return lambda claims: isinstance(allocate(claims, cluster, NODE), Allocation)


def names(conflict):
    return [one.request for one in conflict]


RED = device("red", attributes={"colour": "red"})
BLUE = [device(f"blue-{number}", attributes={"colour": "blue"}) for number in range(2)]


def test_claims_that_fit_have_no_conflict():
    assert smallest_conflict([claim(request("a"))], fits_on(RED)) == ()


def test_a_request_that_does_not_fit_alone_is_the_conflict():
    wanted = claim(request("a"), request("b"), request("c", colour("green")))

    assert names(smallest_conflict([wanted], fits_on(RED))) == ["c"]


def test_requests_that_others_could_do_without_are_left_out():
    wanted = claim(request("a", colour("blue")), request("b", colour("red")), request("c", colour("red")))

    assert names(smallest_conflict([wanted], fits_on(RED, *BLUE))) == ["b", "c"]


def test_a_conflict_may_go_over_several_claims():
    wanted = [claim(request("a", colour("red")), name=name) for name in ("one", "two")]

    conflict = smallest_conflict(wanted, fits_on(RED, *BLUE))

    assert [str(one) for one in conflict] == ["default/one request a", "default/two request a"]


def test_a_constraint_binds_those_that_are_left_and_falls_with_the_last_of_them():
    same = MatchAttribute(COLOUR, ("a", "b"))
    wanted = claim(
        request("a", colour("red")), request("b", colour("blue")), request("c"), constraints=[same]
    )

    assert names(smallest_conflict([wanted], fits_on(RED, *BLUE))) == ["a", "b"]
    assert only([wanted], {RequestOf(wanted.ref, "c")})[0].constraints == ()
    assert only([wanted], {RequestOf(wanted.ref, "a")})[0].constraints == (MatchAttribute(COLOUR, ("a",)),)


def test_a_claim_without_requests_left_is_left_out():
    wanted = [claim(request("a"), name="one"), claim(request("b"), name="two")]

    assert [one.ref.name for one in only(wanted, {RequestOf(ClaimRef("default", "two"), "b")})] == ["two"]


def test_a_part_that_cannot_be_judged_is_not_called_a_conflict():
    def fits(claims):
        kept = {one.name for claim in claims for one in claim.requests}
        if kept == {"a"}:
            raise SelectorError("text", "fails alone")
        return len(kept) < 2

    wanted = claim(request("a"), request("b"), request("c"))

    assert names(smallest_conflict([wanted], fits)) == ["a", "b"]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["red", "blue", "green"]), max_size=4),
    st.lists(st.tuples(st.sampled_from(["red", "blue", None]), st.integers(1, 2)), min_size=1, max_size=4),
    st.booleans(),
)
def test_a_conflict_does_not_fit_and_any_part_of_it_does(colours, wanted, is_same):
    devices = [device(f"d{number}", attributes={"colour": one}) for number, one in enumerate(colours)]
    fits = fits_on(*devices, allocated=[held("d0")])
    requests = [
        request(f"r{number}", *([colour(one)] if one else []), count=count)
        for number, (one, count) in enumerate(wanted)
    ]
    asked = [claim(*requests, constraints=[MatchAttribute(COLOUR)] if is_same else [])]

    conflict = smallest_conflict(asked, fits)

    assert bool(conflict) is not fits(asked)
    assert not conflict or not fits(only(asked, set(conflict)))
    for fewer in combinations(conflict, len(conflict) - 1) if conflict else []:
        assert fits(only(asked, set(fewer)))
