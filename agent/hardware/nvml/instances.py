"""Reads the MIG instances of a GPU: its GIs, their CIs and the CIs' MIG devices.

Takes handles; returns values. GIs are listed by profile, not by MIG device: a GI without a CI has none, but
it occupies its placement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ctypes import byref, c_uint
from typing import Any, Final

import pynvml

from agent.hardware.errors import InvalidArgument, NotFound, NotSupported
from agent.hardware.nvml.calls import bounded, call
from agent.hardware.nvml.profiles import compute_profiles, full_width, gpu_instance_profiles
from agent.hardware.types import ComputeInstance, GpuInstance, GpuUuid, MigUuid, Placement

# NVML writes all handles, whatever the size of the buffer. Some drivers report too few instances per profile,
# so the buffer always has room for the most that any board can have.
_LEAST_ROOM: Final = 16

_Gone = (NotFound, InvalidArgument)
"""NVML's answers for a handle whose instance another process has destroyed."""


def read_gpu_instances(device: Any, gpu: GpuUuid) -> tuple[GpuInstance, ...]:
    """Return the GIs by id; empty with MIG off and on a model without MIG. Raises: HardwareError."""
    found: dict[int, GpuInstance] = {}
    for _, profile in gpu_instance_profiles(device, f"GPU {gpu}"):
        for handle in _gpu_instance_handles(device, gpu, profile):
            try:
                instance = _gpu_instance(handle, gpu)
            except _Gone:
                continue
            found[instance.gi_id] = instance
    return tuple(found[gi_id] for gi_id in sorted(found))


def read_gpu_instance_info(handle: Any, gpu: GpuUuid) -> Any:
    """Return NVML's record of a GI. Raises: HardwareError."""
    return call("read GI", f"GPU {gpu}", pynvml.nvmlGpuInstanceGetInfo, handle)


def read_compute_instance(handle: Any, subject: str, *, is_filling: bool) -> ComputeInstance:
    """Return a CI with the UUID of its MIG device. Raises: HardwareError.

    The CI's record has the device's handle; searching all MIG devices takes seconds under load.
    """
    info = call("read CI", subject, pynvml.nvmlComputeInstanceGetInfo, handle)
    uuid = call("read MIG UUID", f"CI {info.id} of {subject}", pynvml.nvmlDeviceGetUUID, info.device)
    place = None if is_filling else Placement(info.placement.start, info.placement.size)
    return ComputeInstance(info.id, MigUuid(str(uuid)), place)


def _gpu_instance(handle: Any, gpu: GpuUuid) -> GpuInstance:
    info = read_gpu_instance_info(handle, gpu)
    placement = Placement(info.placement.start, info.placement.size)
    instances = _compute_instances(handle, f"GI {info.id} of GPU {gpu}")
    return GpuInstance(gpu, info.id, info.profileId, placement, instances)


def _gpu_instance_handles(device: Any, gpu: GpuUuid, profile: Any) -> Iterator[Any]:
    def fill(handles: Any, count: Any) -> None:
        function = pynvml.nvmlDeviceGetGpuInstances
        call("list GIs", f"GPU {gpu}", function, device, profile.id, handles, count)

    most = bounded("list GIs", f"GPU {gpu}", profile.instanceCount)
    return _handles(pynvml.c_nvmlGpuInstance_t, most, fill)


def _compute_instances(instance: Any, subject: str) -> tuple[ComputeInstance, ...]:
    found: dict[int, ComputeInstance] = {}
    profiles = compute_profiles(instance, subject)
    filling = full_width(profiles)
    for profile in profiles:

        def fill(handles: Any, count: Any, profile_id: int = profile.profile_id) -> None:
            function = pynvml.nvmlGpuInstanceGetComputeInstances
            call("list CIs", subject, function, instance, profile_id, handles, count)

        most = bounded("list CIs", subject, profile.max_instances)
        for handle in _handles(pynvml.c_nvmlComputeInstance_t, most, fill):
            try:
                compute_instance = read_compute_instance(handle, subject, is_filling=profile in filling)
            except _Gone:
                continue
            found[compute_instance.ci_id] = compute_instance
    return tuple(found[ci_id] for ci_id in sorted(found))


def _handles(kind: Any, most: int, fill: Callable[[Any, Any], None]) -> Iterator[Any]:
    """Yield the handles that a listing call writes; none if the call does not apply, as with MIG off."""
    room = max(most, _LEAST_ROOM)
    handles, count = (kind * room)(), c_uint(room)
    try:
        fill(handles, byref(count))
    except NotSupported:
        return
    yield from (handle for handle in handles[: count.value] if handle)  # a driver may count too many
