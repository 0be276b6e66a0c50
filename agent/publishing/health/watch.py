"""The two threads that hear of health: one waits for events of the driver, one reads how devices are.

Neither ends by a failure. A GPU is read at once when it has an event, all of them again and again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Condition, Event
from typing import Final, Protocol

from agent.hardware.errors import DriverMissing, GivenUp, GpuLost, HardwareError, NotFound
from agent.hardware.health.ports import GpuEventSource, NicVitalsReader
from agent.hardware.health.types import GpuEvent, GpuEvents, GpuVitals, NicVitals
from agent.hardware.types import Bdf, GpuUuid, MigMode
from agent.health.state import GpuReading, NoAnswer, Told
from agent.publishing.health.kept import KeptHealth

_WAIT_S: Final = 1.0  # for events
_EVENTS_GAP_S: Final = 0.02  # between events and the next ones: what comes meanwhile is counted together
_READING_GAP_S: Final = 0.2  # between two readings, however often something is urgent
_LONGEST_GAP_S: Final = 1.0  # while something is urgent again and again
_RETRY_S: Final = 5.0
_PERIOD_S: Final = 10.0  # between readings of all devices
_EVERY_VF: Final = 6  # of so many readings one reads VFs too
_MOST_STRANGE: Final = 64
_log = logging.getLogger("agent.health")


class GpuHealth(Protocol):
    """Reads how GPUs are."""

    def vitals(self, gpu: GpuUuid) -> GpuVitals:
        """Return how a GPU is now. Raises: HardwareError."""
        ...

    def mig_mode(self, gpu: GpuUuid) -> MigMode | None:
        """Return the MIG mode, None on a model without MIG. Raises: HardwareError."""
        ...


@dataclass(frozen=True, slots=True)
class HealthSources:
    """Whom the agent asks for the health of devices."""

    events: GpuEventSource
    gpus: GpuHealth
    nics: NicVitalsReader


class HealthWatch:
    """Tells ``kept`` what the sources say. ``hear_events`` and ``read`` each run on a thread of their own."""

    def __init__(
        self,
        sources: HealthSources,
        kept: KeptHealth,
        wait: Callable[[Condition, float], object] = Condition.wait,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sources = sources
        self._kept = kept
        self._wait = wait
        self._clock = clock
        self._wake = Condition()
        self._urgent: set[GpuUuid] = set()
        self._is_all_urgent = True
        self._all_due = 0.0  # by the clock, once all have been read
        self._turn = 0
        self._are_nics_urgent = False
        self._strange: set[int | None] = set()
        self._trouble = ""

    def hear_events(self, ended: Event) -> None:
        """Wait for events until ``ended``."""
        while not ended.is_set():
            try:
                heard = self._sources.events.wait(_WAIT_S)
                self._hear(heard)
                self._trouble = ""
                if heard.events:
                    ended.wait(_EVENTS_GAP_S)
            except GivenUp:
                return  # this program ends: events did not fail, and are not waited for again
            except HardwareError as error:
                self._tell_trouble(error)
                ended.wait(_RETRY_S)
            except Exception:  # noqa: BLE001 - the outermost loop of a thread
                _log.exception("unexpected error while waiting for events of GPUs; please report this")
                ended.wait(_RETRY_S)

    def read(self, ended: Event) -> None:
        """Read all devices now and then, and each GPU that had an event at once, until ``ended``.

        In a storm of events the readings come further and further apart: they cost far more than events.
        """
        gap_s = _READING_GAP_S
        while not ended.is_set():
            try:
                gpus, nics = self._taken()
                self._kept.hear(Told(gpus=self._gpus(gpus), nics=self._nics(nics)))
            except Exception:  # noqa: BLE001 - the outermost loop of a thread
                _log.exception("unexpected error while reading the health of devices; please report this")
            ended.wait(gap_s)
            has_rested = self._rest(ended)
            gap_s = _READING_GAP_S if has_rested else min(2 * gap_s, _LONGEST_GAP_S)

    def _rest(self, ended: Event) -> bool:
        """Wait for something urgent, or until all devices are due; return whether neither was so yet.

        What is urgent meanwhile does not put off the reading of all devices: on a busy node the kernel
        always has something to say of its networks.
        """
        with self._wake:
            left_s = self._all_due - self._clock()
            has_rested = left_s > 0 and not self._is_urgent and not ended.is_set()
            if has_rested:
                self._wait(self._wake, left_s)
        with self._wake:
            self._is_all_urgent |= self._clock() >= self._all_due and not ended.is_set()
        return has_rested

    @property
    def _is_urgent(self) -> bool:
        return bool(self._urgent) or self._is_all_urgent or self._are_nics_urgent

    def hasten(self, gpus: Iterable[GpuUuid] | None = None) -> None:
        """Have GPUs read at once, or all devices."""
        with self._wake:
            if gpus is None:
                self._is_all_urgent = True
            else:
                self._urgent.update(gpus)
            self._wake.notify()

    def hasten_nics(self) -> None:
        """Have NICs read at once: the kernel said that something changed."""
        with self._wake:
            self._are_nics_urgent = True
            self._wake.notify()

    def _hear(self, heard: GpuEvents) -> None:
        self._kept.hear(Told(heard.events, heard.unwatched))
        for event in heard.events:
            self._tell_strange(event)
        if heard.is_new_session:
            self.hasten()
        elif known := {event.gpu for event in heard.events if event.gpu is not None}:
            self.hasten(known)

    def _tell_strange(self, event: GpuEvent) -> None:
        """Log once an event of a GPU that nobody knows: no device can be concerned."""
        if event.gpu is not None and (event.gpu in self._kept.state.gpus or not self._kept.has_looked):
            return
        if event.xid in self._strange or len(self._strange) > _MOST_STRANGE:
            return
        self._strange.add(event.xid)
        what = str(event.kind) if event.xid is None else f"XID {event.xid}"
        _log.warning(
            "the driver reported %s of a GPU that it does not list (%s)", what, event.gpu or "no UUID"
        )

    def _tell_trouble(self, error: HardwareError) -> None:
        text = f"events of GPUs are not heard: {error}; it is tried again, and vitals are read meanwhile"
        if text != self._trouble:
            level = logging.DEBUG if isinstance(error, DriverMissing) else logging.WARNING
            _log.log(level, "%s", text)
        self._trouble = text

    def _taken(self) -> tuple[tuple[GpuUuid, ...], tuple[Bdf, ...]]:
        """Return the GPUs and the functions of NICs to read now."""
        with self._wake:
            is_full, urgent = self._is_all_urgent, set(self._urgent)
            are_nics_wanted = is_full or self._are_nics_urgent
            self._is_all_urgent, self._are_nics_urgent, self._urgent = False, False, set()
            if is_full:
                self._all_due = self._clock() + _PERIOD_S
        known, away = self._kept.state.gpus, self._kept.facts.given_away
        gpus = (gpu for gpu, memory in known.items() if memory.bdf not in away)
        return tuple(gpu for gpu in gpus if is_full or gpu in urgent), (
            self._functions(is_full=is_full) if are_nics_wanted else ()
        )

    def _functions(self, *, is_full: bool) -> tuple[Bdf, ...]:
        """Return the NICs, and the VFs that are not well; on some turns all VFs, which may be thousands."""
        facts = self._kept.facts
        ill = {key.target for key in self._kept.state.troubles}
        vfs = facts.vfs if is_full and self._turn % _EVERY_VF == 0 else facts.vfs & ill
        self._turn += is_full
        return tuple(sorted(facts.pfs | vfs))

    def _gpus(self, gpus: Iterable[GpuUuid]) -> dict[GpuUuid, GpuReading | NoAnswer]:
        found = ((gpu, self._gpu(gpu)) for gpu in gpus)
        return {gpu: one for gpu, one in found if one is not None}

    def _gpu(self, gpu: GpuUuid) -> GpuReading | NoAnswer | None:
        """Return how a GPU is, None where this program ends before it is known: no GPU is blamed for that."""
        try:
            vitals = self._sources.gpus.vitals(gpu)
            mode = self._sources.gpus.mig_mode(gpu)
        except GivenUp:
            return None
        except HardwareError as error:
            return _no_answer(error)
        return GpuReading(vitals, has_links=mode is None or not (mode.current or mode.pending))

    def _nics(self, functions: Iterable[Bdf]) -> dict[Bdf, NicVitals | NoAnswer]:
        return {bdf: self._nic(bdf) for bdf in functions}

    def _nic(self, bdf: Bdf) -> NicVitals | NoAnswer:
        try:
            return self._sources.nics.nic_vitals(bdf)
        except HardwareError as error:
            return _no_answer(error)


def _no_answer(error: HardwareError) -> NoAnswer:
    return NoAnswer(error.reason, is_lost=isinstance(error, GpuLost), is_unknown=isinstance(error, NotFound))
