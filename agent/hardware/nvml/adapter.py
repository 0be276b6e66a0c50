"""Implements the ``Gpus`` port with NVML.

Takes UUIDs and specs; returns values and errors. Only handles are cached; the state of a GPU is read each
time, because other processes change it too. Each GPU has a lock of its own, which every change of the GPU
holds, so a slow GPU does not delay calls to other GPUs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from ctypes import CDLL, RTLD_GLOBAL, byref
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

import pynvml

from agent.hardware.asked import unreadable
from agent.hardware.driver.nvml_rules import refusal
from agent.hardware.errors import HardwareError, InUse, InvalidArgument, LibraryMissing, NotSupported
from agent.hardware.health.types import GpuEvent, GpuVitals
from agent.hardware.nvml.boards import (
    read_address,
    read_architecture,
    read_compute_mode,
    read_gpu,
    read_memory_bytes,
    read_mig_mode,
    read_minor,
    read_processes,
    write_compute_mode,
)
from agent.hardware.nvml.calls import bounded, call
from agent.hardware.nvml.events import Away, EventSet
from agent.hardware.nvml.instances import read_compute_instance, read_gpu_instance_info, read_gpu_instances
from agent.hardware.nvml.profiles import (
    ComputeProfile,
    compute_profiles,
    full_width,
    of_width,
    read_profiles,
)
from agent.hardware.nvml.vitals import read_vitals
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

_MODE_CHANGES = {
    pynvml.NVML_SUCCESS: ModeChange.ACTIVE,
    pynvml.NVML_ERROR_IN_USE: ModeChange.PENDING_IN_USE,
    pynvml.NVML_ERROR_RESET_REQUIRED: ModeChange.PENDING_RESET,
}


class Nvml:
    """An open NVML session. Use it as a context manager, or close it."""

    def __init__(self) -> None:
        self._handles: dict[GpuUuid, Any] = {}
        self._locks: dict[GpuUuid, Lock] = {}
        self._events = EventSet()

    @classmethod
    def open(cls, library: Path | None = None) -> Self:
        """Load the driver's library and start a session; the node may have no GPU.

        Shape: ``library`` is the host's library as a pod sees it, outside the loader's folders.
        Raises: DriverMissing if the library or the kernel module is missing, or they do not match.
        """
        if library is not None:
            _load(library)
        call("initialise", "NVML", pynvml.nvmlInitWithFlags, pynvml.NVML_INIT_FLAG_NO_GPUS)
        return cls()

    def close(self) -> None:
        """End the session."""
        self._events.close()
        self._handles.clear()
        call("shut down", "NVML", pynvml.nvmlShutdown)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def versions(self) -> DriverVersions:
        """Return the driver's versions. Raises: HardwareError."""
        driver = self._driver_version()
        cuda = int(call("read CUDA version", "this node", pynvml.nvmlSystemGetCudaDriverVersion))
        return DriverVersions(driver, f"{cuda // 1000}.{cuda % 1000 // 10}")

    def gpus(self) -> tuple[Gpu | Unreadable, ...]:
        """Return every GPU by index; one that cannot be read is an ``Unreadable``."""
        return tuple(self._gpu(index) for index in range(self.count()))

    def in_one_look(self) -> Self:
        """Return these GPUs: a call that hangs cannot be left from inside its process."""
        return self

    def count(self) -> int:
        """Return how many GPUs the driver lists. Raises: HardwareError."""
        attempted, subject = "count GPUs", "this node"
        return bounded(attempted, subject, int(call(attempted, subject, pynvml.nvmlDeviceGetCount)))

    def gpu(self, index: int) -> Gpu:
        """Return one GPU by its index. Raises: HardwareError, naming what could not be read."""
        device = call("find", f"GPU {index}", pynvml.nvmlDeviceGetHandleByIndex, index)
        gpu = read_gpu(device, index)
        self._handles[gpu.uuid] = device
        return gpu

    def address(self, index: int) -> Bdf:
        """Return the PCI address of a GPU by its index. Raises: HardwareError."""
        subject = f"GPU {index}"
        return read_address(call("find", subject, pynvml.nvmlDeviceGetHandleByIndex, index), subject)

    def minor(self, gpu: GpuUuid) -> int:
        """Return the number of a GPU's device node. Raises: HardwareError."""
        return read_minor(self._handle(gpu), f"GPU {gpu}")

    def mig_mode(self, gpu: GpuUuid) -> MigMode | None:
        """Return the MIG mode, None on a model without MIG. Raises: HardwareError."""
        return read_mig_mode(self._handle(gpu), f"GPU {gpu}")

    def compute_mode(self, gpu: GpuUuid) -> ComputeMode:
        """Return which programs may compute on a GPU. Raises: HardwareError."""
        return read_compute_mode(self._handle(gpu), f"GPU {gpu}")

    def set_compute_mode(self, gpu: GpuUuid, mode: ComputeMode) -> None:
        """Set which programs may compute on a GPU. Raises: NotSupported in MIG mode."""
        with self._lock(gpu):
            write_compute_mode(self._handle(gpu), f"GPU {gpu}", mode)

    def profiles(self, gpu: GpuUuid) -> tuple[MigProfile, ...]:
        """Return the GPU-instance profiles by name, empty on a model without MIG. Raises: HardwareError."""
        device, subject = self._handle(gpu), f"GPU {gpu}"
        if read_mig_mode(device, subject) is None:
            return ()
        architecture = read_architecture(device, subject)
        return read_profiles(device, subject, read_memory_bytes(device, subject), architecture)

    def gpu_instances(self, gpu: GpuUuid) -> tuple[GpuInstance, ...]:
        """Return the existing GIs by id, also those without a CI; empty with MIG off.

        With MIG off there are none, and nothing else is asked: a driver that fails in its MIG queries keeps
        no GPU from being used whole.
        """
        device = self._handle(gpu)
        mode = read_mig_mode(device, f"GPU {gpu}")
        return read_gpu_instances(device, gpu) if mode is not None and mode.current else ()

    def processes(self, gpu: GpuUuid) -> tuple[int, ...]:
        """Return the processes that compute or draw on a GPU. Raises: HardwareError."""
        return read_processes(self._handle(gpu), f"GPU {gpu}", self._driver_version())

    def vitals(self, gpu: GpuUuid) -> GpuVitals:
        """Return how a GPU is now. Raises: GpuLost, ResetRequired and others."""
        return read_vitals(self._handle(gpu), gpu)

    def watch_events(self, gpu: GpuUuid) -> None:
        """Register a GPU for events. Raises: NotSupported, GpuLost and others."""
        self._events.watch(gpu, self._handle(gpu))

    def wait_events(self, longest_s: float, away: Away = nullcontext) -> tuple[GpuEvent, ...]:
        """Return the events of registered GPUs that came, none after so many seconds without any.

        Shape: ``away`` surrounds the time in which nothing but waiting is done.
        Raises: HardwareError; then no GPU is registered any more.
        """
        return self._events.wait(longest_s, away)

    def set_mig_mode(self, gpu: GpuUuid, enabled: bool) -> ModeChange:
        """Request the mode and return whether it took effect or is pending.

        NVML reports success even if the mode stays pending; its activation status says why.
        Raises: NotSupported on a model without MIG; InUse if instances exist and it shall be turned off.
        """
        attempted, subject = f"turn MIG {'on' if enabled else 'off'}", f"GPU {gpu}"
        mode = pynvml.NVML_DEVICE_MIG_ENABLE if enabled else pynvml.NVML_DEVICE_MIG_DISABLE
        with self._lock(gpu):
            existing = () if enabled else self.gpu_instances(gpu)
            if existing:
                raise InUse(attempted, subject, f"it has {len(existing)} GPU instance(s)")
            status = call(attempted, subject, pynvml.nvmlDeviceSetMigMode, self._handle(gpu), mode)
        if status not in _MODE_CHANGES:
            raise refusal(attempted, subject, status)
        return _MODE_CHANGES[status]

    def create_gpu_instance(self, spec: MigSpec) -> int:
        """Create the GI that ``spec`` describes and return its id.

        Raises: NotSupported with MIG off; InvalidArgument for an unknown profile or placement;
                InsufficientResources if the placement or an engine is occupied.
        """
        placement = pynvml.c_nvmlGpuInstancePlacement_t(spec.placement.start, spec.placement.size)
        subject = f"GPU {spec.parent}"
        attempted = f"create GI of profile {spec.profile_id} at {spec.placement.start}"
        with self._lock(spec.parent):
            instance = call(
                attempted,
                subject,
                pynvml.nvmlDeviceCreateGpuInstanceWithPlacement,
                self._handle(spec.parent),
                spec.profile_id,
                byref(placement),
            )
            return int(read_gpu_instance_info(instance, spec.parent).id)

    def create_compute_instance(
        self, gpu: GpuUuid, gi_id: int, place: Placement | None = None
    ) -> ComputeInstance:
        """Create a compute instance and its MIG device. Without ``place`` it fills the GPU instance.

        Units: ``place`` compute slices of the GI.
        Raises: NotFound for an unknown GI; InvalidArgument for a place where the GI has no narrower CI;
                InsufficientResources if another CI is there already; NotSupported where the driver cannot
                place CIs.
        """
        subject = f"GI {gi_id} of GPU {gpu}"
        with self._lock(gpu):
            instance = self._gpu_instance(gpu, gi_id)
            return _fill(instance, subject) if place is None else _put(instance, subject, place)

    def destroy_compute_instance(self, gpu: GpuUuid, gi_id: int, ci_id: int) -> None:
        """Destroy a CI. Raises: NotFound; InUse while a process uses its MIG device."""
        subject = f"CI {ci_id} of GI {gi_id} of GPU {gpu}"
        with self._lock(gpu):
            instance = self._gpu_instance(gpu, gi_id)
            found = call("find", subject, pynvml.nvmlGpuInstanceGetComputeInstanceById, instance, ci_id)
            call("destroy", subject, pynvml.nvmlComputeInstanceDestroy, found)

    def destroy_gpu_instance(self, gpu: GpuUuid, gi_id: int) -> None:
        """Destroy a GI. Raises: NotFound; InUse while it has CIs."""
        with self._lock(gpu):
            instance = self._gpu_instance(gpu, gi_id)
            call("destroy", f"GI {gi_id} of GPU {gpu}", pynvml.nvmlGpuInstanceDestroy, instance)

    def _gpu(self, index: int) -> Gpu | Unreadable:
        try:
            return self.gpu(index)
        except HardwareError as error:
            return unreadable(index, error, lambda: self.address(index))

    def _driver_version(self) -> str:
        return str(call("read driver version", "this node", pynvml.nvmlSystemGetDriverVersion))

    def _handle(self, gpu: GpuUuid) -> Any:
        """Return the handle, cached: a lookup by UUID takes seconds while other processes do it too."""
        if gpu not in self._handles:
            self._handles[gpu] = call("find", f"GPU {gpu}", pynvml.nvmlDeviceGetHandleByUUID, gpu)
        return self._handles[gpu]

    def _lock(self, gpu: GpuUuid) -> Lock:
        return self._locks.setdefault(gpu, Lock())

    def _gpu_instance(self, gpu: GpuUuid, gi_id: int) -> Any:
        subject = f"GI {gi_id} of GPU {gpu}"
        return call("find", subject, pynvml.nvmlDeviceGetGpuInstanceById, self._handle(gpu), gi_id)


def _load(library: Path) -> None:
    """Load a library file; pynvml then gets it from the loader by its soname."""
    try:
        CDLL(os.fspath(library), mode=RTLD_GLOBAL)
    except OSError as error:
        raise LibraryMissing("load", str(library), str(error)) from error


def _fill(instance: Any, subject: str) -> ComputeInstance:
    """Create the full-width CI."""
    refused = NotSupported("create CI", subject, "it offers no compute instance profile")
    create = pynvml.nvmlGpuInstanceCreateComputeInstance

    def make(profile_id: int) -> Any:
        return call("create CI", subject, create, instance, profile_id)

    created = _first_made(full_width(compute_profiles(instance, subject)), make, refused)
    return read_compute_instance(created, subject, is_filling=True)


def _put(instance: Any, subject: str, place: Placement) -> ComputeInstance:
    """Create a CI that leaves room in its GI."""
    attempted = f"create CI at compute slices {place.start}:{place.size}"
    refused = InvalidArgument(attempted, subject, f"it offers no CI of {place.size} compute slices")
    create = pynvml.nvmlGpuInstanceCreateComputeInstanceWithPlacement
    where = pynvml.c_nvmlComputeInstancePlacement_t(place.start, place.size)

    def make(profile_id: int) -> Any:
        return call(attempted, subject, create, instance, profile_id, byref(where))

    created = _first_made(of_width(compute_profiles(instance, subject), place.size), make, refused)
    return read_compute_instance(created, subject, is_filling=False)


def _first_made(
    profiles: Iterable[ComputeProfile], make: Callable[[int], Any], refused: HardwareError
) -> Any:
    """Try profiles until the driver supports one. Raises: the last refusal; ``refused`` without profiles."""
    for profile in profiles:
        try:
            return make(profile.profile_id)
        except NotSupported as error:
            refused = error
    raise refused
