"""What the kinds of devices under MPS share: limits, and what programs need of a device's daemon.

A program finds the daemon in the folder that NVIDIA's driver looks in by default, so one that clears its
environment finds it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec

from agent.hardware.types import MIB, HostFile
from plugin.base.errors import NotReady
from plugin.machine.context import Context
from plugin.machine.parts import Parts
from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.configuration.values import Config, GpuConfig, MigConfig, Mps

_PIPES: Final = "/tmp/nvidia-mps"  # noqa: S108 - where NVIDIA's driver looks
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - where the C library looks


class RecordedLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What each program of a claim may use, as it is recorded.

    Units: percent of the multiprocessors; MiB of the device's memory. None is no limit.
    """

    active_thread_percentage: int | None = None
    memory_mib: int | None = None


def sharing_of(config: Config | None) -> Mps | None:
    """Return what a configuration says of MPS, None where it says nothing."""
    match config:
        case GpuConfig(sharing=Mps() as mps) | MigConfig(sharing=Mps() as mps):
            return mps
        case _:
            return None


def limits_of(mps: Mps | None, index: int, uuid: str | None = None) -> RecordedLimits:
    """Return what a configuration allows each program of one device, by its index or its UUID."""
    if mps is None:
        return RecordedLimits()
    by_device = mps.pinned_memory_limits
    memory = by_device.get(str(index)) or by_device.get(uuid or "") or mps.pinned_memory_limit
    return RecordedLimits(
        active_thread_percentage=mps.active_thread_percentage, memory_mib=_mib(memory) if memory else None
    )


def narrower(one: RecordedLimits, other: RecordedLimits) -> RecordedLimits:
    """Return limits that keep both."""
    return RecordedLimits(
        active_thread_percentage=_least(one.active_thread_percentage, other.active_thread_percentage),
        memory_mib=_least(one.memory_mib, other.memory_mib),
    )


def under_mps(context: Context, parts: Parts, uuid: str, limits: RecordedLimits) -> Parts:
    """Return the parts of a device with what its programs need of its daemon.

    The device is the first one that the program sees: no other of its container is under MPS.
    """
    folders = context.mps.folders(uuid)
    shared = ((_PIPES, folders.pipe), (_SHARED_MEMORY, folders.shared_memory))
    variables = [("CUDA_MPS_PIPE_DIRECTORY", _PIPES)]
    if limits.active_thread_percentage is not None:
        variables.append(("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", str(limits.active_thread_percentage)))
    if limits.memory_mib is not None:
        variables.append(("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", f"0={limits.memory_mib}M"))
    return replace(
        parts,
        folders=(*parts.folders, *(HostFile(path, folder) for path, folder in shared)),
        variables=(*parts.variables, *variables),
    )


def refuse_gone(context: Context, device: str, uuid: str) -> None:
    """Check that the daemon of a device runs. Raises: NotReady."""
    if not context.mps.is_running(uuid):
        raise NotReady("use", f"device {device}", "its MPS daemon does not run", "it is started again")


def end_unused(context: Context, uuids: Sequence[str]) -> None:
    """End the daemons of devices that no other claim has under MPS, the last one first.

    Raises: HardwareError, StorageFailed. A second call goes on from there.
    """
    for uuid in reversed(uuids):
        if uuid not in context.others_under_mps():
            context.mps.end(uuid)


def _mib(amount: Quantity) -> int:
    return amount.whole // MIB


def _least(one: int | None, other: int | None) -> int | None:
    given = [limit for limit in (one, other) if limit is not None]
    return min(given, default=None)
