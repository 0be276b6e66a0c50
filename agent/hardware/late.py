"""GPUs of a node whose driver may be loaded later, be replaced, hang, or never exist.

Takes a function that opens a session with the driver; returns a ``Gpus``. A session that ended, or whose
driver is gone, is dropped, and the next call opens another one. What hangs is remembered: calls about it fail
at once until it is time to ask again, calls about other GPUs go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from agent.hardware.asked import Answer, AskedGpus, GpusInOneLook, OpenGpus
from agent.hardware.errors import DriverMissing, HardwareError, SteppedAside, Unanswered
from agent.hardware.hung import OPENING, HungCalls


class LateGpus(AskedGpus):
    """Implements ``Gpus``. ``open_driver`` raises DriverMissing while there is no driver.

    Shape: ``hung`` where calls that hang are noted, None where nobody else asks for them.
    Units: ``clock`` seconds, for what hangs; ``wall_clock`` seconds since 1970.
    """

    def __init__(
        self,
        open_driver: Callable[[], OpenGpus],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        hung: HungCalls | None = None,
    ) -> None:
        self._open_driver = open_driver
        self._clock = clock
        self._hung = hung or HungCalls(clock, wall_clock)
        self._changing = Lock()
        self._driver: OpenGpus | None = None

    def close(self) -> None:
        """End the session, if there is one."""
        with self._changing:
            driver, self._driver = self._driver, None
        if driver is not None:
            _end(driver)

    def in_one_look(self) -> GpusInOneLook:
        """Return a reader for one look at all GPUs, which limits how long it waits for GPUs that hang."""
        return GpusInOneLook(self, self._clock)

    def session(self, about: str) -> OpenGpus:
        """Return the open session, which is opened where there is none. Raises: HardwareError, as ``ask``."""
        self._hung.refuse(about)
        return self._opened()

    def ask(self, about: str, question: Callable[[OpenGpus], Answer]) -> Answer:
        """Ask the session, which is opened where there is none. Raises: HardwareError.

        Shape: ``about`` a GPU's UUID or index, or another key of ``HungCalls``.
        """
        try:
            return self._ask_once(about, question)
        except SteppedAside:  # nothing of the question was begun
            return self._ask_once(about, question)

    def _ask_once(self, about: str, question: Callable[[OpenGpus], Answer]) -> Answer:
        self._hung.refuse(about)
        driver = self._opened()
        try:
            answer = question(driver)
        except DriverMissing:
            if self._drop(driver):  # it was unloaded: the next call opens it again
                _end(driver)
            raise
        except Unanswered as error:
            self._drop(driver)
            self._hung.add(about, error)
            raise
        self._hung.forget(about)
        return answer

    def _opened(self) -> OpenGpus:
        with self._changing:
            if self._driver is None or self._driver.has_ended:
                self._hung.refuse(OPENING)
                self._driver = None
                try:
                    self._driver = self._open_driver()
                except Unanswered as error:
                    self._hung.add(OPENING, error)
                    raise
                self._hung.forget(OPENING)
            return self._driver

    def _drop(self, driver: OpenGpus) -> bool:
        """Leave a session to those that still wait for its answers; return whether it was the present one."""
        with self._changing:
            is_present = self._driver is driver
            if is_present:
                self._driver = None
            return is_present


def _end(driver: OpenGpus) -> None:
    with suppress(HardwareError):
        driver.close()
