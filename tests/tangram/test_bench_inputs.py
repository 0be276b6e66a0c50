"""The inputs of the benchmarks, on which we are compared with upstream, are what they say they are."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from scheduler_core.books.ledger import Ledger
from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_claim, decode_class
from tangram.bench.inputs import MOST_RESULTS, TIMES, benchmark, names
from tangram.bench.machine import DRIVER, GPUS, MEMORY_SLICES, NODE, Dgx, named, scattered, whole_gpus
from tangram.bench.random_questions import FAMILIES, questions, random_question
from tangram.hardware import AllMachines

ON_ONE_MACHINE = [name for name in names() if not name.startswith("B2")]


@pytest.fixture(scope="module")
def dgx():
    return Dgx(AllMachines())


def pool_of(slices):
    (pool,) = v1.pools(v1.decode_slice(one) for one in slices)
    return pool


def results_asked(claim):
    return sum(one["exactly"]["count"] for one in claim["spec"]["devices"]["requests"])


@pytest.mark.parametrize("name", ON_ONE_MACHINE)
def test_every_benchmark_is_valid_and_its_claims_keep_within_the_limit_of_results(name, dgx):
    asked = benchmark(name, dgx)

    claims = asked.get("sequence") or asked["claims"]

    assert pool_of(asked["slices"]).problem is None
    assert [decode_claim(claim).ref.name for claim in claims]
    assert [decode_class(one).name for one in asked["classes"]]
    assert all(results_asked(claim) <= MOST_RESULTS for claim in claims)


def test_four_times_a_machine_has_four_times_its_gpus_and_every_name_once(dgx):
    pool = pool_of(dgx.slices(TIMES))

    uuids = {device.attributes.get(f"{DRIVER}/uuid") for device in pool.devices} - {None}

    assert len(pool.devices) == TIMES * len(pool_of(dgx.slices()).devices)
    assert len(uuids) == TIMES * GPUS
    assert pool.problem is None


def test_a_machine_under_another_name_has_no_uuid_of_the_first(dgx):
    other = pool_of(named(dgx.slices(), "node-0007", 7))

    first = {device.attributes.get(f"{DRIVER}/uuid") for device in pool_of(dgx.slices()).devices} - {None}

    assert other.id.name == "node-0007"
    assert not first & {device.attributes.get(f"{DRIVER}/uuid") for device in other.devices}


def whole(share, chance, _pool):
    return whole_gpus(share, chance)


@pytest.mark.parametrize("fill", [whole, scattered])
def test_what_is_held_of_a_machine_can_be_held_together_and_reaches_its_share(fill, dgx):
    pool = pool_of(dgx.slices())
    ledger = Ledger(pool)
    by_name = {device.name: device for device in pool.devices}

    taken = list(fill(0.6, Random(1), pool))
    for device in taken:
        ledger.take(device, "somebody")

    used = sum(
        dimension.startswith("memory-slice-")
        for name in taken
        for draw in by_name[name].draws
        for dimension in draw.amounts
    )
    assert used >= 0.6 * GPUS * MEMORY_SLICES


def test_b1b_asks_for_as_many_partitions_as_the_machine_can_hold(dgx):
    assert len(benchmark("B1b", dgx)["sequence"]) == 7 * GPUS


def test_the_filter_tries_200_nodes_of_which_each_has_slices_and_held_devices(dgx):
    asked = benchmark("B2", dgx)

    assert len(asked["nodes"]) == 200
    assert {one["spec"]["nodeName"] for one in asked["slices"]} == set(asked["nodes"])
    assert {one["pool"] for one in asked["allocated"]["devices"]} == set(asked["nodes"])
    assert NODE not in asked["nodes"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_random_question_is_made_again_from_its_seed_and_number(family):
    later = list(islice(questions(family, 7), 3))

    assert later[2] == random_question(family, 7, 2)
    assert later[2] != random_question(family, 8, 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_questions_are_valid_and_what_they_hold_can_be_held(family):
    for asked in islice(questions(family, 1), 60):
        found = {pool.id.name: pool for pool in v1.pools(v1.decode_slice(one) for one in asked["slices"])}
        ledger = Ledger(found["parts"])

        for held in asked["allocated"]["devices"]:
            ledger.take(held["device"], "somebody")

        assert all(pool.problem is None and pool.is_complete for pool in found.values())
        assert all(decode_claim(claim) for claim in asked["claims"])
