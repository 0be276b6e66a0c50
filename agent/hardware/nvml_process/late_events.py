"""The events of GPUs whose driver may be loaded later, be replaced, hang, or never exist.

Takes the ``LateGpus`` that opens sessions with the driver; returns a ``GpuEventSource``. In every new session
all GPUs are registered again, each by itself: one that hangs or refuses keeps no other from being heard.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from agent.hardware.asked import OpenGpus
from agent.hardware.errors import DriverMissing, GivenUp, HardwareError, NotFound
from agent.hardware.health.types import GpuEvent, GpuEvents, Unwatched
from agent.hardware.hung import EVENTS
from agent.hardware.late import LateGpus
from agent.hardware.types import Gpu, GpuUuid

_AGAIN_S: Final = 30.0
"""How often the GPUs are listed again, and those that are not registered are tried again."""


class LateEvents:
    """Implements ``GpuEventSource``. Units: ``clock`` seconds."""

    def __init__(self, gpus: LateGpus, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._gpus = gpus
        self._clock = clock
        self._session: OpenGpus | None = None
        self._known: set[GpuUuid] = set()
        self._watched: set[GpuUuid] = set()
        self._unwatched: dict[GpuUuid, str] = {}
        self._again_at = 0.0

    def wait(self, longest_s: float) -> GpuEvents:
        """Return as soon as something came, else after so many seconds.

        Raises: DriverMissing; HardwareError where the driver tells no events any more.
        """
        is_new = self._begin()
        if is_new or self._clock() >= self._again_at:
            self._register()
        came: tuple[GpuEvent, ...] = ()
        if not is_new:
            try:
                came = self._gpus.ask(EVENTS, lambda driver: self._came(driver, longest_s))
            except HardwareError:
                self._session = None
                raise
        return GpuEvents(came, self._told(), is_new_session=is_new)

    def _begin(self) -> bool:
        """Return whether the session is another one than that of the last call; then nobody is registered."""
        session = self._gpus.session(EVENTS)
        if session is self._session:
            return False
        self._session = session
        self._watched.clear()
        return True

    def _came(self, driver: OpenGpus, longest_s: float) -> tuple[GpuEvent, ...]:
        """Wait in the session in which GPUs are registered; in another one nothing would come."""
        return driver.wait_events(longest_s) if driver is self._session else ()

    def _register(self) -> None:
        """Register what the driver lists, and what it listed before, as far as it is not registered yet."""
        self._again_at = self._clock() + _AGAIN_S
        self._known.update(gpu.uuid for gpu in self._gpus.gpus() if isinstance(gpu, Gpu))
        self._unwatched.clear()
        for gpu in sorted(self._known - self._watched):
            try:
                self._gpus.ask(gpu, partial(self._watch, gpu))
            except (DriverMissing, GivenUp):
                self._session = None
                raise
            except NotFound:
                self._known.discard(gpu)
            except HardwareError as error:
                self._unwatched[gpu] = str(error)

    def _watch(self, gpu: GpuUuid, driver: OpenGpus) -> None:
        if driver is self._session:
            driver.watch_events(gpu)
            self._watched.add(gpu)

    def _told(self) -> tuple[Unwatched, ...]:
        return tuple(Unwatched(gpu, reason) for gpu, reason in sorted(self._unwatched.items()))
