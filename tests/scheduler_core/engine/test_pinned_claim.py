"""Requests limited to chosen devices: the engine answers as the plain search does."""

from dataclasses import replace
from math import inf
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_clusters import NODES, situation_of

from scheduler_core.base.errors import CoreError, SelectorError
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.result import Allocation
from scheduler_core.search import depth_first
from scheduler_core.search.answer import allocation
from scheduler_core.search.candidates import located
from scheduler_core.search.depth_first import Search
from scheduler_core.search.pinned import pinned
from scheduler_core.search.problem import problem_of
from scheduler_core.state.testing import ANY, NODE, claim, device, held, pool, request

SEEDS = st.integers(0, 2**48)
SETTINGS = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True, scope="module")
def oracle_without_a_bound():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depth_first, "DECISION", inf)
        yield


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except CoreError as error:
        return type(error), str(error)


def plain(claims, cluster, node, pins):
    seen = replace(cluster, pools=cluster.pools_seen_from(node))
    search = Search(pinned(problem_of(claims, seen, node), pins, seen.pools))
    if not search.run():
        return None
    return allocation(claims, search.problem, search.chosen, cluster=seen, node=node)


def random_pins(chance, requests):
    """Return as many devices as some requests want, free or not."""
    return {
        number: tuple(one.id for one in chance.sample(found.devices, found.count))
        for number, found in enumerate(requests)
        if found.is_plain
        and found.count is not None
        and found.count <= len(found.devices)
        and chance.random() < 0.6
    }


@SETTINGS
@given(SEEDS)
def test_pinned_requests_get_what_the_plain_search_gives_them(seed):
    chance = Random(seed)
    situation = situation_of(chance)
    engine, cluster = situation.engine(), situation.cluster()
    for node in NODES:
        requests = outcome(engine.request_devices, situation.claims, node)
        if not isinstance(requests[0], type):
            pins = random_pins(chance, requests)
            found = outcome(engine.decide_pinned, situation.claims, node, pins)

            try:
                expected = plain(situation.claims, cluster, node, pins)
            except SelectorError as error:
                expected = (type(error), str(located(error, situation.claims, cluster.classes)))
            assert found == expected


@SETTINGS
@given(SEEDS)
def test_tables_and_ledgers_name_the_same_free_devices(seed):
    situation = situation_of(Random(seed))
    engine = situation.engine()
    for node in NODES:
        found = outcome(engine.request_devices, situation.claims, node)
        with_reasons = outcome(lambda: engine.request_devices(situation.claims, node, reasons=True))  # noqa: B023

        assert facts(found) == facts(with_reasons)


def facts(requests):
    if isinstance(requests[0], type):
        return requests
    return [
        (
            one.claim,
            one.name,
            one.count,
            one.is_plain,
            [(each.id, each.is_free, each.fails) for each in one.devices],
        )
        for one in requests
        if one.is_plain
    ]


def test_a_pinned_device_in_use_is_no_answer_and_says_why():
    wanted = claim(request("r"))
    cluster = Cluster(pools=(pool(device("a"), device("b")),), classes={"any": ANY}, allocated=(held("a"),))
    engine = Engine.of(cluster, FIRST_FIT)
    ((first, second),) = [one.devices for one in engine.request_devices([wanted], NODE, reasons=True)]

    assert engine.decide_pinned([wanted], NODE, {0: [first.id]}) is None
    assert "default/other" in first.why
    found = engine.decide_pinned([wanted], NODE, {0: [second.id]})
    assert isinstance(found, Allocation)
    assert [one.device for one in found.results[wanted.ref]] == [second.id]


def test_two_requests_that_ask_for_the_same_get_the_devices_pinned_to_each():
    wanted = claim(request("x"), request("y"))
    engine = Engine.of(Cluster(pools=(pool(device("a"), device("b")),), classes={"any": ANY}), FIRST_FIT)
    (first, second), _ = [one.devices for one in engine.request_devices([wanted], NODE)]

    for pins in ({0: [second.id], 1: [first.id]}, {0: [first.id], 1: [second.id]}):
        found = engine.decide_pinned([wanted], NODE, pins)
        assert [one.device for one in found.results[wanted.ref]] == [pins[0][0], pins[1][0]]
    assert engine.decide_pinned([wanted], NODE, {0: [first.id], 1: [first.id]}) is None
