"""What the kinds of devices that are GPUs, or are cut from them, share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from agent.hardware.types import Gpu, GpuInstance, GpuUuid
from plugin.machine.context import Context
from plugin.machine.lock_target import GPU, LockTarget
from plugin.machine.seen import SeenHardware

_NOT_LISTED: Final[Mapping[GpuUuid, None]] = MappingProxyType({})


def lock_targets_of(gpus: Iterable[GpuUuid]) -> tuple[LockTarget, ...]:
    """Return what is locked for devices of these GPUs."""
    return tuple(LockTarget(GPU, gpu) for gpu in gpus)


def turn_off_unused_modes(
    context: Context,
    gpus: Iterable[GpuUuid],
    left: Mapping[GpuUuid, Sequence[GpuInstance] | None] = _NOT_LISTED,
    *,
    was_off: bool = False,
) -> None:
    """Turn the MIG mode off on GPUs without instances, unless it is to stay or cannot be turned off.

    Shape: ``left`` the instances of GPUs that were listed just now; ``was_off`` whether the mode was off
           while a claim had the GPUs.
    """
    known = context.node.gpus
    for gpu in sorted(set(gpus)):
        if gpu in known:
            context.mig_modes.turn_off_if_unused(known[gpu], left.get(gpu), was_off=was_off)


def why_missing(gpus: Iterable[Gpu], seen: SeenHardware) -> str:
    """Return why GPUs do not answer, empty where all do."""
    return "; ".join(filter(None, (seen.why_gpu_is_missing(gpu) for gpu in gpus)))
