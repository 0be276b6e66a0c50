"""B9 on small fleets: the same seeds give the same figures, and best-fit keeps what it promises."""

import pytest

from tangram.bench.machine import Dgx
from tangram.bench.placement.campaign import BEST, FIRST, SHUFFLED, outcomes
from tangram.bench.placement.fleet import fleet
from tangram.bench.placement.kinds import MEMORY_SLICES
from tangram.bench.placement.mixes import MIXES
from tangram.bench.placement.traces import trace
from tangram.hardware import AllMachines

NODES, GPUS = 6, 8


@pytest.fixture(scope="module")
def dgx():
    return Dgx(AllMachines())


def found(dgx, name, load, count, sides, seeds=(1,)):
    mix = MIXES[name]
    on = fleet(dgx.pool(machine=mix.machine), NODES, is_shared=mix.is_shared)
    return [outcomes(mix, load, on, count, side, seeds=seeds) for side in sides]


@pytest.mark.parametrize("name", MIXES)
def test_every_mix_fills_its_machines_up_to_what_they_hold(dgx, name):
    first, best, shuffled = found(dgx, name, 3.0, 250, (FIRST, BEST, SHUFFLED))

    for one in (first, best, shuffled):
        assert one.asked == 200
        assert 0 < one.refused < one.asked
        assert one.refused_slices >= one.refused
        assert 0.5 < one.utilisation <= 1
        assert 0 <= one.whole_nodes < 0.5


def test_the_same_seed_gives_the_same_outcome_and_another_one_another(dgx):
    same, again = (found(dgx, "mid", 1.1, 300, (BEST,)) for _ in range(2))

    assert same == again
    assert same != found(dgx, "mid", 1.1, 300, (BEST,), seeds=(2,))


def test_claims_for_partitions_are_refused_less_than_under_first_fit(dgx):
    first, best = found(dgx, "mid", 1.0, 800, (FIRST, BEST), seeds=(1, 2))

    assert best.refused_slices <= 0.85 * first.refused_slices


def test_claims_for_8_gpus_are_refused_no_more_than_under_first_fit(dgx):
    first, best = found(dgx, "8 GPUs beside small", 0.9, 800, (FIRST, BEST), seeds=(1, 2, 3))

    assert best.refused_slices <= 1.02 * first.refused_slices


def test_preferred_alternatives_are_given_as_often_as_where_they_are_asked_for_first(dgx):
    first, best = found(dgx, "firstAvailable", 1.0, 600, (FIRST, BEST))

    assert best.preferred == pytest.approx(first.preferred, rel=0.05)


@pytest.mark.parametrize("name", MIXES)
def test_a_trace_brings_the_load_that_is_asked_for(name):
    mix = MIXES[name]
    arrivals = list(trace(mix, 0.9, NODES * GPUS, 20_000, seed=1))

    work = sum(mix.kinds[one.ask].weight * one.stays for one in arrivals)
    assert work / arrivals[-1].at == pytest.approx(0.9 * NODES * GPUS, rel=0.1)
    assert [one.at for one in arrivals] == sorted(one.at for one in arrivals)


def test_a_whole_gpu_counts_as_all_its_memory_slices(dgx):
    on = fleet(dgx.pool(), NODES, is_shared=False)

    assert (on.gpus, on.slices) == (NODES * GPUS, NODES * GPUS * MEMORY_SLICES)
