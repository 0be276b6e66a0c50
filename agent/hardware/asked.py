"""The questions that the driver is asked about GPUs, one GPU at a time.

One look at all GPUs limits how long it waits for GPUs that hang. ``late`` brings a question to the driver.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from agent.hardware.errors import DriverMissing, GivenUp, GpuLost, HardwareError, ResetRequired
from agent.hardware.health.ports import GpuVitalsReader
from agent.hardware.health.types import GpuEvent, GpuVitals
from agent.hardware.hung import NODE
from agent.hardware.ports import ComputeModeWriter, GpuFacts, MigWriter
from agent.hardware.types import (
    Bdf,
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

Answer = TypeVar("Answer")

_LOOK_S: Final = 30.0
"""How long one look waits for all GPUs that hang, until this time is used up. Units: seconds."""
_LEAST_S: Final = 5.0
"""How long it waits for each GPU after that: a healthy one may need seconds to start. Units: seconds."""


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

    def address(self, index: int) -> Bdf:
        """Return the PCI address of a GPU by its index."""
        ...

    def within(self, longest_s: float) -> OpenGpus:
        """Return the same session, which waits for no answer longer. Units: seconds."""
        ...

    def close(self) -> None:
        """End the session."""
        ...


def unreadable(index: int, error: HardwareError, address: Callable[[], Bdf]) -> Unreadable:
    """Return what stands for a GPU that the driver lists and that could not be read, with its address.

    The address distinguishes it from a GPU that the driver does not list at all.
    """
    try:
        bdf = address()
    except HardwareError:
        bdf = None
    is_lost = isinstance(error, GpuLost | ResetRequired)
    return Unreadable(f"GPU {index}", str(error), () if bdf is None else (bdf,), bdf, is_lost)


class AskedGpus(ABC):
    """All questions of ``Gpus``, each about one GPU or about the node."""

    @abstractmethod
    def ask(self, about: str, question: Callable[[OpenGpus], Answer]) -> Answer:
        """Ask the session, which is opened where there is none. Raises: HardwareError.

        Shape: ``about`` a GPU's UUID or index, or another key of ``HungCalls``.
        """

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

    def _gpu(self, index: int) -> Gpu | Unreadable:
        """Read one GPU. One that hangs, or ends the session, keeps no other from being read."""
        try:
            return self.ask(str(index), lambda driver: driver.gpu(index))
        except (DriverMissing, GivenUp):
            raise
        except HardwareError as error:
            asked = str(index)
            return unreadable(index, error, lambda: self.ask(asked, lambda driver: driver.address(index)))


class GpusInOneLook(AskedGpus):
    """The same questions for one look at all GPUs. It waits 30 s for GPUs that hang, then 5 s for each.

    One thread uses it. Units: ``clock`` seconds.
    """

    def __init__(self, gpus: AskedGpus, clock: Callable[[], float]) -> None:
        self._gpus = gpus
        self._clock = clock
        self._waited_s = 0.0

    def in_one_look(self) -> GpusInOneLook:
        """Return these GPUs: the look is the same."""
        return self

    def ask(self, about: str, question: Callable[[OpenGpus], Answer]) -> Answer:
        """Ask, and wait no longer than the look has time left. Raises: HardwareError."""
        left_s = max(_LEAST_S, float(round(_LOOK_S - self._waited_s)))  # people read it in messages
        begun = self._clock()
        try:
            return self._gpus.ask(about, lambda driver: question(driver.within(left_s)))
        except HardwareError:
            self._waited_s += self._clock() - begun
            raise
