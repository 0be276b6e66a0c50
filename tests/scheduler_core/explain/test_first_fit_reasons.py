"""Why a device and not its neighbours; what a request matches, and what each match lacks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.features import Features
from scheduler_core.explain.allocate import allocate
from scheduler_core.explain.constraint_values import constraint_values
from scheduler_core.explain.first_fit_reasons import demands, first_fit_choices
from scheduler_core.model.claim import DeviceRequest, DistinctAttribute, MatchAttribute, Request
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.names import qualified
from scheduler_core.model.obstacles import InUse, OthersDoNotFit, PartsInUse
from scheduler_core.model.result import Allocation
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.model.taints import Taint
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

COLOUR = qualified("colour", DRIVER)


def colour(name):
    return f"device.attributes['{DRIVER}'].colour == '{name}'"


def cluster_of(*pools, allocated=()):
    return Cluster(pools=pools, classes={"any": ANY}, allocated=tuple(allocated))


def chosen(cluster, *claims):
    allocation = allocate(claims, cluster, NODE)
    assert isinstance(allocation, Allocation)
    return first_fit_choices(allocation, claims, cluster, NODE)


def passed(choice):
    return {str(one.device.device): obstacle_text(one.obstacle) for one in choice.passed}


THREE = pool(
    device("one", attributes={"colour": "red"}),
    device("two", attributes={"colour": "blue"}),
    device("three", attributes={"colour": "blue"}),
)
BOARD = pool(
    device("board", attributes={"colour": "red"}, m=4),
    device("half-0", sources=["board"], attributes={"colour": "red"}, m=2),
    device("half-1", sources=["board"], attributes={"colour": "red"}, m=2),
    device("most", sources=["board"], attributes={"colour": "red"}, m=3),
)


def test_the_first_that_matches_passes_over_nobody():
    (choice,) = chosen(cluster_of(THREE), claim(request("r")))

    assert (str(choice.device), choice.passed, choice.yielded) == (f"{DRIVER}/node-1/one", (), ())


def test_a_device_of_another_claim_is_passed_over_by_its_holder():
    (choice,) = chosen(cluster_of(THREE, allocated=[held("one")]), claim(request("r")))

    assert passed(choice) == {"one": "it is held by default/other"}


def test_a_device_of_an_earlier_request_is_passed_over_by_that_request():
    _, choice = chosen(cluster_of(THREE), claim(request("a"), request("b")))

    assert passed(choice) == {"one": "it is held by default/claim request a"}


def test_a_request_for_several_devices_does_not_pass_over_its_own():
    first, second = chosen(cluster_of(THREE), claim(request("r", count=2)))

    assert (first.passed, second.passed) == ((), ())


def test_a_taint_is_an_obstacle():
    tainted = replace(
        THREE, devices=(replace(THREE.devices[0], taints=(Taint("broken"),)), *THREE.devices[1:])
    )

    (choice,) = chosen(cluster_of(tainted), claim(request("r")))

    assert passed(choice) == {"one": "taint broken=:NoSchedule is not tolerated"}


def test_a_constraint_is_told_with_its_attribute():
    wanted = claim(request("a", colour("blue")), request("b"), constraints=[MatchAttribute(COLOUR)])

    _, choice = chosen(cluster_of(THREE), wanted)

    assert str(choice.device.device) == "three"
    assert (
        passed(choice)["one"] == f"matchAttribute {COLOUR} does not allow it with the claim's other devices"
    )


def test_a_free_device_is_passed_over_where_the_rest_would_not_fit():
    wanted = claim(request("a"), request("b", colour("blue")), constraints=[MatchAttribute(COLOUR)])

    choice, _ = chosen(cluster_of(THREE), wanted)

    assert passed(choice) == {"one": obstacle_text(OthersDoNotFit())}


def test_an_alternative_that_had_to_yield_is_told_with_what_it_lacked():
    def option(name, text):
        return DeviceRequest(name=f"r/{name}", class_name="any", selectors=(text,))

    listed = Request(name="r", alternatives=(option("red", colour("red")), option("blue", colour("blue"))))

    (choice,) = chosen(cluster_of(THREE, allocated=[held("one")]), claim(listed))

    (demand,) = choice.yielded
    assert (demand.request, demand.needed, demand.free) == ("r/red", 1, 0)
    assert obstacle_text(demand.matched[0].obstacle) == "it is held by default/other"


def test_what_a_device_lacks_is_told_in_amounts_with_the_holders():
    cluster = cluster_of(BOARD, allocated=[held("half-0", by="h")])

    (demand,) = demands([claim(request("r"))], cluster, NODE)

    found = {str(one.device.device): one.obstacle for one in demand.matched}
    assert found["half-1"] is None
    assert isinstance(found["half-0"], InUse)
    assert isinstance(found["board"], PartsInUse)
    told = obstacle_text(found["most"])
    assert told == "board has too little m left: 3 needed, 2 of 4 left; held by default/h (half-0)"
    assert demand.free == 1


def test_a_source_that_is_too_small_even_when_free_is_held_by_nobody():
    small = pool(device("board", m=1), device("part", sources=["board"], m=2))

    (demand,) = demands([claim(request("r"))], cluster_of(small), NODE)

    told = obstacle_text(demand.matched[1].obstacle)
    assert told == "board has too little m even when unused: 2 needed, 1 in all"


def test_looking_on_meets_no_obstacle():
    option = DeviceRequest(name="r", class_name="any", admin_access=True)
    wanted = claim(Request(name="r", alternatives=(option,)))

    (choice,) = chosen(cluster_of(THREE, allocated=[held("one")]), wanted)

    assert (str(choice.device.device), choice.passed) == ("one", ())


@pytest.mark.parametrize("kind", [MatchAttribute, DistinctAttribute])
def test_a_constraint_is_told_with_the_devices_that_could_meet_it(kind):
    wanted = claim(request("a", count=2), request("b"), constraints=[kind(COLOUR, ("a",))])
    cluster = cluster_of(THREE, allocated=[held("two")])

    (spread,) = constraint_values([wanted], cluster, NODE, demands([wanted], cluster, NODE))

    assert (spread.needed, spread.free, spread.without) == (2, {"blue": 1, "red": 1}, 0)
    assert spread.requests == ("a",)


COLOURS = st.lists(st.sampled_from(["red", "blue"]), min_size=1, max_size=5)


@settings(max_examples=200, deadline=None)
@given(COLOURS, st.lists(st.sampled_from(["red", "blue", ""]), min_size=1, max_size=3), st.booleans())
def test_what_is_called_free_but_without_room_after_it_has_none(colours, wanted, is_same):
    devices = [device(f"d{number}", attributes={"colour": one}) for number, one in enumerate(colours)]
    requests = [request(f"r{n}", *([colour(one)] if one else [])) for n, one in enumerate(wanted)]
    asked = claim(*requests, constraints=[MatchAttribute(COLOUR)] if is_same else [])
    cluster = replace(cluster_of(pool(*devices), allocated=[held("d0")]), features=Features())
    allocation = allocate([asked], cluster, NODE)
    if not isinstance(allocation, Allocation):
        return

    made = first_fit_choices(allocation, [asked], cluster, NODE)

    assert [one.device for one in made] == [one.device for one in allocation.results[asked.ref]]
    for number, choice in enumerate(made):
        taken = [one.device.device for one in made[:number]]
        for one in choice.passed:
            if one.obstacle == OthersDoNotFit():
                assert not completes(asked, cluster, [*taken, one.device.device])


def completes(asked, cluster, prefix):
    """Whether the claim can be completed when its first requests get the devices of the prefix."""
    (only_pool,) = cluster.pools
    marked = tuple(
        replace(one, attributes={**one.attributes, qualified("place", DRIVER): place(one.name, prefix)})
        for one in only_pool.devices
    )
    pinned = tuple(
        replace(
            one,
            alternatives=(
                replace(
                    one.alternatives[0],
                    selectors=(
                        *one.alternatives[0].selectors,
                        f"device.attributes['{DRIVER}'].place == {number}",
                    ),
                ),
            ),
        )
        for number, one in enumerate(asked.requests[: len(prefix)])
    )
    wanted = replace(asked, requests=(*pinned, *asked.requests[len(prefix) :]))
    changed = replace(cluster, pools=(replace(only_pool, devices=marked),))
    return isinstance(allocate([wanted], changed, NODE), Allocation)


def place(name, prefix):
    return prefix.index(name) if name in prefix else -1
