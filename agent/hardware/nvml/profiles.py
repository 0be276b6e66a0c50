"""Reads the MIG profiles of a GPU: GPU-instance profiles with their placements, compute-instance profiles.

Profiles are found by querying NVML's constants one by one. A constant is used for that query only; all other
calls (create, list, placements) take the id in the answer, which is a different number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ctypes import byref, c_uint
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pynvml

from agent.hardware.compute_profiles import narrower_profiles
from agent.hardware.driver.nvml_rules import newest_form
from agent.hardware.errors import HardwareFault, InvalidArgument, NotSupported
from agent.hardware.nvml.calls import bounded, call
from agent.hardware.nvml.names import profile_name
from agent.hardware.types import MIB, MigProfile, Placement
from agent.hardware.types import ComputeProfile as Narrower


@dataclass(frozen=True, slots=True)
class ComputeProfile:
    """One compute-instance profile of one GI. Shape: among equals the lower ``constant`` is older."""

    constant: int
    profile_id: int
    compute_slices: int
    multiprocessors: int
    max_instances: int


def read_profiles(device: Any, subject: str, total_bytes: int, architecture: str) -> tuple[MigProfile, ...]:
    """Return the GPU-instance profiles by name; empty on a model without MIG.

    Units: ``total_bytes`` bytes, for names that the driver does not report. Raises: HardwareError.
    """
    found: list[MigProfile] = []
    for constant, info in gpu_instance_profiles(device, subject):
        try:
            placements = _placements(device, subject, info.id)
        except NotSupported:
            continue
        attempted = f"read the name of GI profile {constant}"
        reported = str(call(attempted, subject, getattr, info, "name", ""))
        if not total_bytes and not reported:
            reason = "NVML answered neither that nor how much memory the GPU has"
            raise HardwareFault(attempted, subject, reason)
        name = profile_name(constant, reported, info.sliceCount, info.memorySizeMB * MIB, total_bytes)
        found.append(_profile(name, info, placements))
    most = max((profile.compute_slices for profile in found), default=0)
    return tuple(
        replace(profile, narrower=_narrower(profile, architecture, most))
        for profile in sorted(found, key=lambda profile: profile.name)
    )


def gpu_instance_profiles(device: Any, subject: str) -> Iterator[tuple[int, Any]]:
    """Yield the constant and NVML's record of each GPU-instance profile of the GPU."""

    def query(constant: int, version: int) -> Any:
        function = pynvml.nvmlDeviceGetGpuInstanceProfileInfo
        return call(f"read GI profile {constant}", subject, function, device, constant, version)

    return _probe(pynvml.NVML_GPU_INSTANCE_PROFILE_COUNT, query)


def compute_profiles(instance: Any, subject: str) -> tuple[ComputeProfile, ...]:
    """Return the compute-instance profiles of a GI, by constant. Raises: HardwareError."""

    def query(constant: int, version: int) -> Any:
        function = pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo
        engines = pynvml.NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED
        return call(f"read CI profile {constant}", subject, function, instance, constant, engines, version)

    return tuple(
        ComputeProfile(
            constant=constant,
            profile_id=info.id,
            compute_slices=info.sliceCount,
            multiprocessors=info.multiprocessorCount,
            max_instances=info.instanceCount,
        )
        for constant, info in _probe(pynvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT, query)
    )


def full_width(profiles: tuple[ComputeProfile, ...]) -> tuple[ComputeProfile, ...]:
    """Return the profiles that fill their GI, the best first.

    The constants do not show this. A double-memory 1g of Hopper has two one-slice profiles, and only the
    newer one has all multiprocessors. A 7g may have a second seven-slice profile that ordinary boards
    reject at creation. So the reported figures decide, then the older constant; the others are tried next.
    """
    usable = tuple(profile for profile in profiles if profile.max_instances > 0)
    widest = max((profile.compute_slices for profile in usable), default=0)
    filling = (profile for profile in usable if profile.compute_slices == widest)
    return tuple(sorted(filling, key=lambda profile: (-profile.multiprocessors, profile.constant)))


def of_width(profiles: tuple[ComputeProfile, ...], width: int) -> tuple[ComputeProfile, ...]:
    """Return the profiles of a width that leave room in their GI, the best first. Units: compute slices."""
    filling = full_width(profiles)
    usable = (profile for profile in profiles if profile.max_instances > 0 and profile not in filling)
    found = (profile for profile in usable if profile.compute_slices == width)
    return tuple(sorted(found, key=lambda profile: (-profile.multiprocessors, profile.constant)))


def _narrower(profile: MigProfile, architecture: str, most: int) -> tuple[Narrower, ...]:
    slices, multiprocessors = profile.compute_slices, profile.multiprocessors
    return narrower_profiles(slices, multiprocessors, architecture=architecture, most_compute_slices=most)


def _probe(count: int, query: Callable[[int, int], Any]) -> Iterator[tuple[int, Any]]:
    """Query each constant: "not supported" means go on, "invalid" means there is no higher one.

    The newest form reports names. Whether a driver refuses the form or the profile shows in the first form.
    """
    for constant in range(count):
        try:
            yield constant, newest_form(partial(query, constant, 2), partial(query, constant, 1))
        except NotSupported:
            continue
        except InvalidArgument:
            return


def _placements(device: Any, subject: str, profile_id: int) -> tuple[Placement, ...]:
    function = pynvml.nvmlDeviceGetGpuInstancePossiblePlacements
    attempted = f"read placements of profile {profile_id}"
    count = c_uint()
    call(attempted, subject, function, device, profile_id, None, byref(count))
    found = (pynvml.c_nvmlGpuInstancePlacement_t * bounded(attempted, subject, count.value))()
    call(attempted, subject, function, device, profile_id, found, byref(count))
    return tuple(sorted(Placement(at.start, at.size) for at in found[: count.value]))


def _profile(name: str, info: Any, placements: tuple[Placement, ...]) -> MigProfile:
    return MigProfile(
        name=name,
        profile_id=info.id,
        compute_slices=info.sliceCount,
        memory_bytes=info.memorySizeMB * MIB,
        multiprocessors=info.multiprocessorCount,
        copy_engines=info.copyEngineCount,
        decoders=info.decoderCount,
        encoders=info.encoderCount,
        jpeg_engines=info.jpegCount,
        ofa_engines=info.ofaCount,
        max_instances=info.instanceCount,
        placements=placements,
    )
