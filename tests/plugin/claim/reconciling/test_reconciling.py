"""Looks are repeated: once a minute, soon after trouble, and not at all once the plugin ends."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest

from plugin.claim.reconciling.reconciling import Reconciling

REST_S = 60.0


class Scene:
    """Time that passes in waits only. Each look and each wait takes the next word of a plot.

    Shape: looks answer ``well`` or ``trouble``, or raise ``a mistake``; ``hasten`` comes while a wait runs.
    Behind the last look the plugin ends.
    """

    def __init__(self, *looks: str, hastened: tuple[int, ...] = ()) -> None:
        self.looks = list(looks)
        self.hastened = hastened
        self.now = 0.0
        self.looked_at: list[float] = []
        self.reconciling = Reconciling(self.wait, lambda: 1.0)
        self.ended = Event()

    def look(self, is_wanted: Callable[[], bool]) -> bool:
        assert is_wanted()
        self.looked_at.append(self.now)
        word = self.looks.pop(0)
        if not self.looks:
            self.ended.set()
        if word == "a mistake":
            raise KeyError(word)
        return word == "well"

    def wait(self, event: Event, seconds: float) -> bool:
        if self.ended.is_set():
            return event.wait(10.0)  # the end of the plugin wakes it
        if len(self.looked_at) in self.hastened:
            self.reconciling.hasten()
        if not event.is_set():
            self.now += seconds
        return event.is_set()

    def play(self) -> list[float]:
        """Return how long each look came after the one before."""
        self.reconciling.begin(self.look)
        assert self.ended.wait(10.0)
        self.reconciling.close()
        return [later - earlier for earlier, later in zip(self.looked_at, self.looked_at[1:], strict=False)]


def test_the_first_look_is_at_once_and_the_next_ones_come_once_a_minute() -> None:
    scene = Scene(*["well"] * 4)

    assert scene.play() == [REST_S] * 3
    assert scene.looked_at[0] == 0.0


def test_after_a_look_that_failed_the_next_ones_come_soon_and_later_and_later() -> None:
    assert Scene(*["trouble"] * 7).play() == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]


def test_after_a_mistake_of_this_program_it_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    assert Scene("a mistake", "well", "well").play() == [5.0, 10.0 + 50.0]
    assert "claims are not looked after" in caplog.text


def test_soon_after_a_call_that_failed_it_looks_again() -> None:
    assert Scene("well", "well", "well", hastened=(1,)).play() == [5.0, REST_S]


def test_calls_that_fail_without_end_do_not_make_it_look_without_end() -> None:
    assert Scene(*["well"] * 6, hastened=tuple(range(9))).play() == [5.0, 10.0, 20.0, 40.0, 60.0]


def test_it_ends_at_once_whatever_it_waits_for() -> None:
    reconciling, looked = Reconciling(spread=lambda: 1.0), Event()

    def look(_: Callable[[], bool]) -> bool:
        looked.set()
        return True

    reconciling.begin(look)
    assert looked.wait(10.0)
    reconciling.close()

    assert reconciling.is_over


def test_a_look_that_hangs_does_not_keep_the_plugin_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plugin.claim.reconciling.reconciling._GOODBYE_S", 0.0)
    reconciling, looking, go_on = Reconciling(), Event(), Event()
    wanted: list[bool] = []

    def look(is_wanted: Callable[[], bool]) -> bool:
        looking.set()
        go_on.wait(10.0)
        wanted.append(is_wanted())
        return True

    reconciling.begin(look)
    assert looking.wait(10.0)
    reconciling.close()
    assert not reconciling.is_over
    go_on.set()
    monkeypatch.setattr("plugin.claim.reconciling.reconciling._GOODBYE_S", 10.0)
    reconciling.close()

    assert wanted == [False]
    assert reconciling.is_over
