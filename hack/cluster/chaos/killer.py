"""Kills parts of the cluster, one or two at once, in a thread of its own."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from launcher.client import ControlError

from chaos.parts import Parts
from chaos.report import Kill, Report

_TWO_AT_ONCE: Final = 0.3
# What a busy machine needs for the slowest start, and how often a part that has ended is started again.
_MEND_S: Final = 240.0
_PAUSE_S: Final = 2.0


class Killer:
    """Kills parts in rounds of all of them. Shape: ``rounds`` counts those that are complete.

    Units: seconds; ``pause_s`` is the least and the most between two kills; after a round parts are left in
           peace for ``calm_s``, else those that take long to come back would never work.
    """

    def __init__(
        self,
        parts: Parts,
        names: Sequence[str],
        *,
        seed: int,
        pause_s: tuple[float, float],
        calm_s: float,
        report: Report,
        say: Callable[[str], None],
    ) -> None:
        self._parts, self._names = parts, names
        self._pause_s, self._calm_s = pause_s, calm_s
        self._random = random.Random(seed)
        self._report, self._say = report, say
        self._began = time.monotonic()
        self.rounds = 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Kill while the block runs; what was killed is started again before this ends."""
        stop = Event()
        thread = Thread(target=self._run, args=(stop,), name="killer")
        self._began = time.monotonic()
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _run(self, stop: Event) -> None:
        left = self._round()
        while not stop.wait(self._random.uniform(*self._pause_s)):
            if not left:
                left = self._round()
                self.rounds += 1
                if stop.wait(self._calm_s):
                    return
            count = 2 if self._random.random() < _TWO_AT_ONCE else 1
            names, left = tuple(left[:count]), left[count:]
            try:
                killed = self._kill(names)
                left += [name for name in names if name not in killed]  # what did not run has its turn later
            except ControlError as error:
                self._report.problem(str(error))
                self._say(f"PROBLEM: {error}")

    def _round(self) -> list[str]:
        return self._random.sample(self._names, len(self._names))

    def _kill(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Kill parts and start again what nobody else starts; return those that ran. Raises: ControlError."""
        at = time.monotonic()
        killed = self._parts.kill(names)
        self._say(f"killed {' and '.join(killed) or 'nothing'}")
        self._mend(names)
        back_s = round(time.monotonic() - at, 1)
        self._report.kills.append(Kill(at_s=round(at - self._began, 1), parts=killed, back_s=back_s))
        return killed

    def _mend(self, names: tuple[str, ...]) -> None:
        """Start parts again and again, as an init system does: a kubelet ends where its runtime is not ready.

        Raises: ControlError.
        """
        end = time.monotonic() + _MEND_S
        while True:
            try:
                return self._parts.mend(names)
            except ControlError as error:
                if time.monotonic() > end:
                    raise
                self._say(str(error).partition("\n")[0])
            time.sleep(_PAUSE_S)
