"""What hangs is asked ever more rarely, and never while the process that asked it is still there."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from agent.hardware.errors import TimedOut, Unanswered
from agent.hardware.hung import NODE, HungCalls


@dataclass
class World:
    now: float = 0.0
    is_gone: bool = True
    calls: HungCalls = field(init=False)

    def __post_init__(self) -> None:
        self.calls = HungCalls(lambda: self.now, lambda: 1_800_000_000.0 + self.now)

    def hang(self, about: str = NODE) -> None:
        error = Unanswered("count GPUs", "this node", "no answer", lambda: self.is_gone)
        self.calls.add(about, error)

    def is_refused(self, about: str = NODE) -> bool:
        try:
            self.calls.refuse(about)
        except TimedOut:
            return True
        return False


@pytest.fixture
def world() -> World:
    return World()


def test_nothing_is_refused_before_something_hung(world: World) -> None:
    assert not world.is_refused()


def test_what_hung_is_refused_for_a_while_and_the_others_never(world: World) -> None:
    world.hang("GPU-1")

    assert world.is_refused("GPU-1")
    assert not world.is_refused("GPU-0")
    world.now = 15
    assert not world.is_refused("GPU-1")


def test_each_time_it_hangs_again_it_is_refused_for_longer_up_to_five_minutes(world: World) -> None:
    waits = []
    for _ in range(7):
        world.hang()
        begun = world.now
        while world.is_refused():
            world.now += 5
        waits.append(world.now - begun)

    assert waits == [15, 30, 60, 120, 240, 300, 300]


def test_while_the_process_that_asked_cannot_be_killed_it_is_not_asked_again(world: World) -> None:
    world.is_gone = False
    world.hang()
    world.now = 100_000

    assert world.is_refused()
    world.is_gone = True
    assert not world.is_refused()


def test_it_says_since_when_it_hangs_not_when_it_was_asked_last(world: World) -> None:
    world.hang()
    world.now = 60
    world.hang()

    with pytest.raises(TimedOut, match="has not answered since 2027-01-15 08:00:00 UTC"):
        world.calls.refuse(NODE)


def test_what_answered_once_is_asked_at_once_when_it_hangs_later(world: World) -> None:
    world.hang()
    world.hang()
    world.calls.forget(NODE)

    world.hang()

    world.now = 15
    assert not world.is_refused()
