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
from typing import Protocol, TypeVar

from agent.hardware.errors import DriverMissing, GivenUp, HardwareError, SteppedAside, Unanswered
from agent.hardware.health.ports import GpuVitalsReader
from agent.hardware.health.types import GpuEvent, GpuVitals
from agent.hardware.hung import NODE, OPENING, HungCalls
from agent.hardware.ports import ComputeModeWriter, GpuFacts, MigWriter
from agent.hardware.types import (
    ComputeInstance,
    ComputeMode,
    DriverVersions,
    Gpu,
    GpuInstance,
    GpuUuid,
    MigMode,
    MigProfile,
    MigSpec,
    ModeChange,
    Placement,
    Unreadable,
)

_Answer = TypeVar("_Answer")


class OpenGpus(GpuFacts, GpuVitalsReader, MigWriter, ComputeModeWriter, Protocol):
    """An open session with the driver, which is asked for one GPU at a time."""

    @property
    def has_ended(self) -> bool:
        """Whether the session ended by itself; then it answers nothing any more."""
        ...

    def count(self) -> int:
        """Return how many GPUs the driver lists. Raises: DriverMissing."""
        ...

    def watch_events(self, gpu: GpuUuid) -> None:
        """Register a GPU for events. Raises: NotSupported, GpuLost."""
        ...

    def wait_events(self, longest_s: float) -> tuple[GpuEvent, ...]:
        """Return the events that came, none after so many seconds without any."""
        ...

    def gpu(self, index: int) -> Gpu:
        """Return one GPU."""
        ...

    def close(self) -> None:
        """End the session."""
        ...


class LateGpus:
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
        self._hung = hung or HungCalls(clock, wall_clock)
        self._changing = Lock()
        self._driver: OpenGpus | None = None

    def close(self) -> None:
        """End the session, if there is one."""
        with self._changing:
            driver, self._driver = self._driver, None
        if driver is not None:
            _end(driver)

    def versions(self) -> DriverVersions:
        """Return the driver's versions. Raises: DriverMissing."""
        return self.ask(NODE, lambda driver: driver.versions())

    def gpus(self) -> tuple[Gpu | Unreadable, ...]:
        """Return every GPU by index. Raises: DriverMissing."""
        count = self.ask(NODE, lambda driver: driver.count())
        return tuple(self._gpu(index) for index in range(count))

    def minor(self, gpu: GpuUuid) -> int:
        """Return the number of a GPU's device node. Raises: DriverMissing."""
        return self.ask(gpu, lambda driver: driver.minor(gpu))

    def mig_mode(self, gpu: GpuUuid) -> MigMode | None:
        """Return the MIG mode. Raises: DriverMissing."""
        return self.ask(gpu, lambda driver: driver.mig_mode(gpu))

    def compute_mode(self, gpu: GpuUuid) -> ComputeMode:
        """Return the compute mode. Raises: DriverMissing."""
        return self.ask(gpu, lambda driver: driver.compute_mode(gpu))

    def set_compute_mode(self, gpu: GpuUuid, mode: ComputeMode) -> None:
        """Set the compute mode. Raises: DriverMissing."""
        self.ask(gpu, lambda driver: driver.set_compute_mode(gpu, mode))

    def profiles(self, gpu: GpuUuid) -> tuple[MigProfile, ...]:
        """Return the profiles. Raises: DriverMissing."""
        return self.ask(gpu, lambda driver: driver.profiles(gpu))

    def gpu_instances(self, gpu: GpuUuid) -> tuple[GpuInstance, ...]:
        """Return the existing GIs. Raises: DriverMissing."""
        return self.ask(gpu, lambda driver: driver.gpu_instances(gpu))

    def processes(self, gpu: GpuUuid) -> tuple[int, ...]:
        """Return the processes that compute or draw on a GPU. Raises: DriverMissing."""
        return self.ask(gpu, lambda driver: driver.processes(gpu))

    def vitals(self, gpu: GpuUuid) -> GpuVitals:
        """Return how a GPU is now. Raises: DriverMissing."""
        return self.ask(gpu, lambda driver: driver.vitals(gpu))

    def set_mig_mode(self, gpu: GpuUuid, enabled: bool) -> ModeChange:
        """Ask for the mode. Raises: DriverMissing."""
        return self.ask(gpu, lambda driver: driver.set_mig_mode(gpu, enabled))

    def create_gpu_instance(self, spec: MigSpec) -> int:
        """Create a GI. Raises: DriverMissing."""
        return self.ask(spec.parent, lambda driver: driver.create_gpu_instance(spec))

    def create_compute_instance(
        self, gpu: GpuUuid, gi_id: int, place: Placement | None = None
    ) -> ComputeInstance:
        """Create a CI. Raises: DriverMissing."""
        return self.ask(gpu, lambda driver: driver.create_compute_instance(gpu, gi_id, place))

    def destroy_compute_instance(self, gpu: GpuUuid, gi_id: int, ci_id: int) -> None:
        """Destroy a CI. Raises: DriverMissing."""
        self.ask(gpu, lambda driver: driver.destroy_compute_instance(gpu, gi_id, ci_id))

    def destroy_gpu_instance(self, gpu: GpuUuid, gi_id: int) -> None:
        """Destroy a GI. Raises: DriverMissing."""
        self.ask(gpu, lambda driver: driver.destroy_gpu_instance(gpu, gi_id))

    def session(self, about: str) -> OpenGpus:
        """Return the open session, which is opened where there is none. Raises: HardwareError, as ``ask``."""
        self._hung.refuse(about)
        return self._opened()

    def _gpu(self, index: int) -> Gpu | Unreadable:
        """Read one GPU. One that hangs, or ends the session, keeps no other from being read."""
        try:
            return self.ask(str(index), lambda driver: driver.gpu(index))
        except (DriverMissing, GivenUp):
            raise
        except HardwareError as error:
            return Unreadable(f"GPU {index}", str(error))

    def ask(self, about: str, question: Callable[[OpenGpus], _Answer]) -> _Answer:
        """Ask the session, which is opened where there is none. Raises: HardwareError.

        Shape: ``about`` a GPU's UUID or index, or another key of ``HungCalls``.
        """
        try:
            return self._ask_once(about, question)
        except SteppedAside:  # nothing of the question was begun
            return self._ask_once(about, question)

    def _ask_once(self, about: str, question: Callable[[OpenGpus], _Answer]) -> _Answer:
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
