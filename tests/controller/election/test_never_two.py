"""Never may two processes write at once, whatever messages, clocks, freezes and operators do."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from election_world import Process, World, overlaps
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.election.values import Lease, Times

TIMES = Times()
HOUR = 3600.0


def a_world(seed: int, processes: int, trouble: float) -> World:
    """Two or three processes that start, freeze, end and are replaced at random times."""
    random = Random(seed)
    first = random.choice((None, Lease("", 0.0, "0"), Lease("gone", 15.0, "0")))
    world = World(random, trouble, lease=first)

    def start(name: str) -> None:
        freezes = [(at, at + random.expovariate(1 / 15)) for at in (random.uniform(0, 200) for _ in range(3))]
        process = Process(
            world,
            name,
            TIMES,
            offset=random.uniform(-HOUR, HOUR),
            rate=random.uniform(0.99, 1.01),
            freezes=freezes if trouble else (),
        )
        if random.random() < trouble / 2:
            process.at(world.now + random.uniform(10, 100), lambda: replace_by_next(process))

    def replace_by_next(process: Process) -> None:
        if random.random() < 0.5:
            process.end()
        else:
            process.is_ended = True  # it crashed
        start(f"{process.name}'")

    for number in range(processes):
        world.at(random.uniform(0, 20), lambda name=f"p{number}": start(name))  # type: ignore[misc]
    for _ in range(round(4 * trouble)):
        world.at(random.uniform(0, 200), world.meddle)
    return world


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 2**32), processes=st.sampled_from([2, 3]), trouble=st.floats(0, 1))
def test_no_two_processes_ever_write_at_once(seed: int, processes: int, trouble: float) -> None:
    world = a_world(seed, processes, trouble)

    world.run(240.0)

    assert overlaps(world.writes) == []


@pytest.mark.parametrize("seed", range(20))
def test_without_trouble_one_process_writes_all_the_time(seed: int) -> None:
    world = a_world(seed, 3, 0.0)

    world.run(240.0)

    late = [one for one in world.writes if one.begins > 60.0]
    assert len({one.process for one in late}) == 1
    assert max(b.begins - a.begins for a, b in pairwise(late)) < 2.0


@pytest.mark.parametrize("seed", range(20))
def test_when_the_writer_crashes_another_one_goes_on(seed: int) -> None:
    world = World(Random(seed), 0.0, Lease("", 15.0, "0"))
    first = Process(world, "first", TIMES)
    world.run(10.0)
    Process(world, "second", TIMES, offset=HOUR)
    world.run(30.0)

    first.is_ended = True
    world.run(30.0 + TIMES.lease_s + 2 * TIMES.renew_every_s)

    assert {one.process for one in world.writes if one.begins > 30.1} == {"second"}


@pytest.mark.parametrize("seed", range(20))
def test_a_lease_that_is_given_back_is_taken_at_the_next_look(seed: int) -> None:
    world = World(Random(seed), 0.0, Lease("", 15.0, "0"))
    first = Process(world, "first", TIMES)
    world.run(10.0)
    Process(world, "second", TIMES, offset=-HOUR)
    world.run(30.0)

    first.end()
    world.run(30.0 + TIMES.longest_write_s + TIMES.renew_every_s + 2.0)

    assert world.writes[-1].process == "second"
    assert overlaps(world.writes) == []
