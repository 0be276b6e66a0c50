"""GPUs of a node whose driver may be loaded later, be replaced, or never exist.

Takes a function that opens the driver; returns a ``Gpus``. While there is no driver, every call raises
``DriverMissing`` and the next call tries to open it again. Only the open driver is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Protocol, TypeVar

from agent.hardware.errors import DriverMissing, HardwareError
from agent.hardware.ports import Gpus
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


class OpenGpus(Gpus, Protocol):
    """An open session with the driver."""

    def close(self) -> None:
        """End the session."""
        ...


class LateGpus:
    """Implements ``Gpus``. ``open_driver`` raises DriverMissing while there is no driver."""

    def __init__(self, open_driver: Callable[[], OpenGpus]) -> None:
        self._open_driver = open_driver
        self._changing = Lock()
        self._driver: OpenGpus | None = None

    def close(self) -> None:
        """End the session, if there is one."""
        with self._changing:
            driver, self._driver = self._driver, None
        if driver is not None:
            with suppress(HardwareError):
                driver.close()

    def versions(self) -> DriverVersions:
        """Return the driver's versions. Raises: DriverMissing."""
        return self._ask(lambda driver: driver.versions())

    def gpus(self) -> tuple[Gpu | Unreadable, ...]:
        """Return every GPU by index. Raises: DriverMissing."""
        return self._ask(lambda driver: driver.gpus())

    def minor(self, gpu: GpuUuid) -> int:
        """Return the number of a GPU's device node. Raises: DriverMissing."""
        return self._ask(lambda driver: driver.minor(gpu))

    def mig_mode(self, gpu: GpuUuid) -> MigMode | None:
        """Return the MIG mode. Raises: DriverMissing."""
        return self._ask(lambda driver: driver.mig_mode(gpu))

    def compute_mode(self, gpu: GpuUuid) -> ComputeMode:
        """Return the compute mode. Raises: DriverMissing."""
        return self._ask(lambda driver: driver.compute_mode(gpu))

    def set_compute_mode(self, gpu: GpuUuid, mode: ComputeMode) -> None:
        """Set the compute mode. Raises: DriverMissing."""
        self._ask(lambda driver: driver.set_compute_mode(gpu, mode))

    def profiles(self, gpu: GpuUuid) -> tuple[MigProfile, ...]:
        """Return the profiles. Raises: DriverMissing."""
        return self._ask(lambda driver: driver.profiles(gpu))

    def gpu_instances(self, gpu: GpuUuid) -> tuple[GpuInstance, ...]:
        """Return the existing GIs. Raises: DriverMissing."""
        return self._ask(lambda driver: driver.gpu_instances(gpu))

    def set_mig_mode(self, gpu: GpuUuid, enabled: bool) -> ModeChange:
        """Ask for the mode. Raises: DriverMissing."""
        return self._ask(lambda driver: driver.set_mig_mode(gpu, enabled))

    def create_gpu_instance(self, spec: MigSpec) -> int:
        """Create a GI. Raises: DriverMissing."""
        return self._ask(lambda driver: driver.create_gpu_instance(spec))

    def create_compute_instance(
        self, gpu: GpuUuid, gi_id: int, place: Placement | None = None
    ) -> ComputeInstance:
        """Create a CI. Raises: DriverMissing."""
        return self._ask(lambda driver: driver.create_compute_instance(gpu, gi_id, place))

    def destroy_compute_instance(self, gpu: GpuUuid, gi_id: int, ci_id: int) -> None:
        """Destroy a CI. Raises: DriverMissing."""
        self._ask(lambda driver: driver.destroy_compute_instance(gpu, gi_id, ci_id))

    def destroy_gpu_instance(self, gpu: GpuUuid, gi_id: int) -> None:
        """Destroy a GI. Raises: DriverMissing."""
        self._ask(lambda driver: driver.destroy_gpu_instance(gpu, gi_id))

    def _ask(self, question: Callable[[Gpus], _Answer]) -> _Answer:
        driver = self._opened()
        try:
            return question(driver)
        except DriverMissing:
            self.close()  # it was unloaded: the next call opens it again
            raise

    def _opened(self) -> OpenGpus:
        with self._changing:
            if self._driver is None:
                self._driver = self._open_driver()
            return self._driver
