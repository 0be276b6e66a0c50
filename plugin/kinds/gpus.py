"""What the kinds of devices that are GPUs, or are cut from them, share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.hardware.types import Gpu, GpuUuid
from plugin.kinds.claimed import Claimed
from plugin.machine import mig_mode
from plugin.machine.context import Context
from plugin.machine.lock_target import LockTarget
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware


def lock_targets_of(gpus: Iterable[GpuUuid]) -> tuple[LockTarget, ...]:
    """Return what is locked for devices of these GPUs."""
    return tuple(LockTarget("GPU", gpu) for gpu in gpus)


def parts_of(context: Context, device: Claimed, members: Sequence[GpuUuid]) -> Parts:
    """Return the nodes of a device of whole GPUs and the driver's files.

    With admin access also what shows the GPUs' MIG instances. Raises: HardwareError; NotReady.
    """
    parts = context.gpu_parts
    return parts.of_monitored_gpus(members) if device.has_admin_access else parts.of_gpus(members)


def make_whole(context: Context, gpus: Iterable[GpuUuid]) -> None:
    """Turn the MIG mode of GPUs off, so that they can be used whole: of all of them, or of none.

    Raises: PlacementTaken, ModeBlocked, GpuBusy; HardwareError.
    """
    mig_mode.turn_off_together(context.machine.gpus, *(context.node.gpus[gpu] for gpu in gpus))


def turn_off_unused_modes(context: Context, gpus: Iterable[GpuUuid]) -> None:
    """Turn the MIG mode off on GPUs without instances, where that is possible."""
    known = context.node.gpus
    for gpu in sorted(set(gpus)):
        if gpu in known:
            mig_mode.turn_off_if_unused(context.machine.gpus, known[gpu])


def why_missing(gpus: Iterable[Gpu], seen: SeenHardware) -> str:
    """Return why GPUs do not answer, empty where all do."""
    return "; ".join(filter(None, (seen.why_gpu_is_missing(gpu) for gpu in gpus)))
