"""The GPUs of this machine through an NVML process: what ``LateGpus`` opens, drops and opens again."""

from __future__ import annotations

import logging
import time
from _ctypes import dlclose
from collections.abc import Callable
from ctypes import CDLL
from dataclasses import replace
from math import inf
from pathlib import Path
from queue import Empty
from typing import Final

from agent.hardware.errors import DriverLetGo, GivenUp, LibraryMissing
from agent.hardware.health.types import GpuEvent, GpuVitals
from agent.hardware.nvml_process import calls
from agent.hardware.nvml_process.calls import Answered, Call
from agent.hardware.nvml_process.process import (
    HowItEnded,
    Inbox,
    Interruption,
    Process,
    Wait,
    wait_for_answer,
)
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
)

LET_GO_S: Final = 30.0
"""Long enough to unload a driver, short enough that nobody takes the node for broken."""
STEP_ASIDE_S: Final = 5.0
"""Long enough for a change of the MIG mode to begin, short enough that calls can wait for it."""
_LIBRARY: Final = "libnvidia-ml.so.1"
_NODE: Final = "this node"
_log = logging.getLogger(__name__)


class NvmlProcesses:
    """Starts NVML processes, one after the other.

    A process that was asked to go (SIGTERM) is not replaced at once: whoever asked needs the driver free.
    After one that stepped aside (SIGUSR1) the next is awaited, so that no call fails.
    Shape: ``pause`` waits for the end of that time. Units: ``clock``, ``let_go_s`` and ``aside_s`` seconds.
    """

    def __init__(
        self,
        interruption: Interruption,
        *,
        clock: Callable[[], float] = time.monotonic,
        let_go_s: float = LET_GO_S,
        aside_s: float = STEP_ASIDE_S,
        wait: Wait = wait_for_answer,
        pause: Wait = wait_for_answer,
    ) -> None:
        self._interruption = interruption
        self._clock = clock
        self._let_go_s = let_go_s
        self._aside_s = aside_s
        self._wait = wait
        self._pause = pause
        self._let_go_at: float | None = None
        self._aside_at: float | None = None
        self._missing: LibraryMissing | None = None

    def open(self, library: Path | None = None) -> NvmlProcess:
        """Start a process and open NVML in it, with the library as it is on disk now.

        Raises: DriverMissing, DriverLetGo, Unanswered, SessionEnded, GivenUp.
        """
        if self._let_go_at is not None and self._clock() - self._let_go_at < self._let_go_s:
            reason = f"this program was asked to let go of the driver less than {self._let_go_s:g} s ago"
            raise DriverLetGo("open NVML", _NODE, reason)
        self._stay_aside()
        if self._missing is not None and not _can_be_loaded(library):
            raise _again(self._missing)
        session = NvmlProcess(Process(self._interruption, self._hear_end, self._wait))
        try:
            session.begin(library)
        except BaseException as error:
            session.process.kill()
            self._missing = error if isinstance(error, LibraryMissing) else None
            raise
        self._missing = None
        _log.info("NVML is open in process %d", session.process.pid)
        return session

    def _stay_aside(self) -> None:
        """Wait until whoever asked has had the driver for long enough. Raises: GivenUp."""
        if self._aside_at is None:
            return
        left_s = self._aside_at + self._aside_s - self._clock()
        if left_s <= 0:
            return
        inbox = Inbox()
        self._interruption.watch(inbox)
        try:
            self._pause(inbox, left_s)
        except Empty:
            return
        finally:
            self._interruption.forget(inbox)
        raise GivenUp("open NVML", _NODE, "the program ends")

    def _hear_end(self, how: HowItEnded) -> None:
        if how is HowItEnded.LET_GO:
            self._let_go_at = self._clock()
        elif how is HowItEnded.STEPPED_ASIDE:
            self._aside_at = self._clock()
            _log.info("NVML is closed for %g s: another program needs the driver", self._aside_s)


class NvmlProcess:
    """An open NVML session in a process of its own. Units: ``most_s`` seconds that any call may take."""

    def __init__(self, process: Process, most_s: float = inf) -> None:
        self.process = process
        self._most_s = most_s

    def begin(self, library: Path | None) -> None:
        """Open NVML. Raises: DriverMissing if library or kernel module are missing or do not match."""
        self._ask(calls.OPEN, _NODE, None if library is None else str(library))

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self.process.has_ended

    def within(self, longest_s: float) -> NvmlProcess:
        """Return the same session, which waits for no answer longer. Units: seconds."""
        return NvmlProcess(self.process, longest_s)

    def close(self) -> None:
        """End the session with its process."""
        self.process.close()

    def versions(self) -> DriverVersions:
        """Return the driver's versions."""
        return self._ask(calls.VERSIONS, _NODE)

    def count(self) -> int:
        """Return how many GPUs the driver lists."""
        return self._ask(calls.COUNT, _NODE)

    def gpu(self, index: int) -> Gpu:
        """Return one GPU."""
        return self._ask(calls.GPU, f"GPU {index}", index)

    def address(self, index: int) -> Bdf:
        """Return the PCI address of a GPU by its index."""
        return self._ask(calls.ADDRESS, f"GPU {index}", index)

    def minor(self, gpu: GpuUuid) -> int:
        """Return the number of a GPU's device node."""
        return self._ask(calls.MINOR, _of(gpu), gpu)

    def mig_mode(self, gpu: GpuUuid) -> MigMode | None:
        """Return the MIG mode."""
        return self._ask(calls.MIG_MODE, _of(gpu), gpu)

    def compute_mode(self, gpu: GpuUuid) -> ComputeMode:
        """Return the compute mode."""
        return self._ask(calls.COMPUTE_MODE, _of(gpu), gpu)

    def set_compute_mode(self, gpu: GpuUuid, mode: ComputeMode) -> None:
        """Set the compute mode."""
        self._ask(calls.SET_COMPUTE_MODE, _of(gpu), gpu, mode)

    def profiles(self, gpu: GpuUuid) -> tuple[MigProfile, ...]:
        """Return the profiles."""
        return self._ask(calls.PROFILES, _of(gpu), gpu)

    def gpu_instances(self, gpu: GpuUuid) -> tuple[GpuInstance, ...]:
        """Return the existing GIs."""
        return self._ask(calls.GPU_INSTANCES, _of(gpu), gpu)

    def processes(self, gpu: GpuUuid) -> tuple[int, ...]:
        """Return the processes that compute or draw on a GPU."""
        return self._ask(calls.PROCESSES, _of(gpu), gpu)

    def vitals(self, gpu: GpuUuid) -> GpuVitals:
        """Return how a GPU is now."""
        return self._ask(calls.VITALS, _of(gpu), gpu)

    def watch_events(self, gpu: GpuUuid) -> None:
        """Register a GPU for events."""
        self._ask(calls.WATCH_EVENTS, _of(gpu), gpu)

    def wait_events(self, longest_s: float) -> tuple[GpuEvent, ...]:
        """Return the events that came, none after so many seconds without any."""
        call = replace(calls.WAIT_EVENTS, longest_s=calls.WAIT_EVENTS.longest_s + longest_s)
        return self._ask(call, _NODE, longest_s)

    def set_mig_mode(self, gpu: GpuUuid, enabled: bool) -> ModeChange:
        """Ask for the mode."""
        return self._ask(calls.SET_MIG_MODE, _of(gpu), gpu, enabled)

    def create_gpu_instance(self, spec: MigSpec) -> int:
        """Create a GI."""
        return self._ask(calls.CREATE_GI, _of(spec.parent), spec)

    def create_compute_instance(
        self, gpu: GpuUuid, gi_id: int, place: Placement | None = None
    ) -> ComputeInstance:
        """Create a CI."""
        return self._ask(calls.CREATE_CI, f"GI {gi_id} of {_of(gpu)}", gpu, gi_id, place)

    def destroy_compute_instance(self, gpu: GpuUuid, gi_id: int, ci_id: int) -> None:
        """Destroy a CI."""
        self._ask(calls.DESTROY_CI, f"CI {ci_id} of GI {gi_id} of {_of(gpu)}", gpu, gi_id, ci_id)

    def destroy_gpu_instance(self, gpu: GpuUuid, gi_id: int) -> None:
        """Destroy a GI."""
        self._ask(calls.DESTROY_GI, f"GI {gi_id} of {_of(gpu)}", gpu, gi_id)

    def _ask(self, call: Call[Answered], subject: str, *arguments: object) -> Answered:
        if call.longest_s > self._most_s:
            call = replace(call, longest_s=self._most_s)
        return self.process.ask(call, subject, *arguments)


def _again(error: LibraryMissing) -> LibraryMissing:
    """Return an error anew: one that is raised twice keeps the tracebacks of both."""
    return LibraryMissing(error.attempted, error.subject, error.reason)


def _can_be_loaded(library: Path | None) -> bool:
    """Whether the library can be loaded now.

    On a node without a driver that is asked every few seconds, and a process costs far more than this.
    """
    try:
        handle = CDLL(_LIBRARY if library is None else str(library))._handle
    except OSError:
        return False
    dlclose(handle)  # whoever keeps it mapped keeps it after an upgrade
    return True


def _of(gpu: GpuUuid) -> str:
    return f"GPU {gpu}"
