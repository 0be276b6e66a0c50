"""The loop that keeps pools published: woken by changes, patient after failures, and soon at its end."""

from threading import Event, Thread

import pytest

from controller.pools.loop import PoolLoop
from controller.pools.publisher import Turn


class Watched:
    """Objects that a test lists and changes; ``heard`` lets one more event through."""

    def __init__(self, *, is_synced=True):
        self._is_synced = is_synced
        self.asked = Event()
        self._heard = Event()

    @property
    def is_synced(self):
        self.asked.set()
        return self._is_synced

    def documents(self):
        return ()

    def hear(self):
        self._heard.set()

    def follow(self, stop):
        while not stop.is_set():
            if self._heard.wait(0.01):
                self._heard.clear()
                yield ""


class Publisher:
    """Notes each turn; each of the first ones fails as often as it is told to."""

    def __init__(self, failures=0):
        self.turns = 0
        self.again_s = None
        self.taken = Event()
        self._failures = failures

    def turn(self, objects, now):
        self.turns += 1
        self.taken.set()
        return Turn(0, ("the server does not answer",) if self.turns <= self._failures else (), self.again_s)


@pytest.fixture
def running():
    """Start loops in threads, which end with the test."""
    started = []

    def start(publisher, objects, slices):
        loop = PoolLoop(publisher, objects, slices, lambda: "now")
        thread = Thread(target=loop.run, daemon=True)
        thread.start()
        started.append((loop, thread))
        return loop, thread

    yield start
    for loop, thread in started:
        loop.stop()
        thread.join(10)


def test_a_change_of_either_kind_is_a_turn(running):
    publisher, objects, slices = Publisher(), Watched(), Watched()
    running(publisher, objects, slices)

    for changed in (objects, slices):
        changed.hear()
        assert publisher.taken.wait(10)
        publisher.taken.clear()


def test_nothing_is_published_before_both_kinds_were_listed(running):
    publisher, objects, slices = Publisher(), Watched(), Watched(is_synced=False)
    running(publisher, objects, slices)

    for _ in range(2):  # when it asks again, it has done what it does after the first answer
        objects.hear()
        assert slices.asked.wait(10)
        slices.asked.clear()

    assert publisher.turns == 0


def test_a_turn_that_failed_is_repeated_without_a_change(running):
    publisher, objects = Publisher(failures=2), Watched()
    running(publisher, objects, Watched())
    objects.hear()

    for _ in range(3):
        assert publisher.taken.wait(20)
        publisher.taken.clear()


def test_a_turn_that_waits_for_others_is_repeated_soon(running):
    publisher, objects = Publisher(), Watched()
    publisher.again_s = 0.001
    running(publisher, objects, Watched())
    objects.hear()

    for _ in range(3):
        assert publisher.taken.wait(20)
        publisher.taken.clear()


def test_where_the_kind_is_not_installed_nothing_is_watched_and_the_end_is_soon():
    objects, slices = Watched(), Watched()
    asked = Event()
    loop = PoolLoop(Publisher(), objects, slices, lambda: "now", lambda: asked.set() or False)
    thread = Thread(target=loop.run, daemon=True)
    thread.start()
    assert asked.wait(10)

    loop.stop()
    thread.join(10)

    assert not thread.is_alive()
    assert not objects.asked.is_set()


def test_the_loop_and_its_watches_end_when_they_are_told(running):
    loop, thread = running(Publisher(), Watched(), Watched())

    loop.stop()
    thread.join(10)

    assert not thread.is_alive()
