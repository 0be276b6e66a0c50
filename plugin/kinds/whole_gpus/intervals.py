"""The interval of time slicing: how long a program runs on a GPU before the next one may.

It is one setting of a GPU, so all claims that share the GPU and ask for an interval ask for the same one.
What a GPU had before cannot be read, so the end of the last such claim sets the driver's default.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agent.hardware.errors import NotFound, NotSupported
from agent.hardware.types import GpuUuid, TimeSlice
from plugin.machine.context import Context
from scheduler_core.frontends.configuration.values import Config, GpuConfig, Interval, TimeSlicing

_TIME_SLICES: Final = {
    Interval.DEFAULT: TimeSlice.DEFAULT,
    Interval.SHORT: TimeSlice.SHORT,
    Interval.MEDIUM: TimeSlice.MEDIUM,
    Interval.LONG: TimeSlice.LONG,
}


def interval_of(config: Config | None) -> str | None:
    """Return the interval that a configuration with all defaults asks for, None where it asks for none."""
    match config:
        case GpuConfig(sharing=TimeSlicing(interval=Interval() as interval)):
            return str(interval)
        case _:
            return None


def set_interval(context: Context, gpu: GpuUuid, interval: str | None) -> None:
    """Set the interval of a GPU, nothing where none is asked for. Raises: HardwareError."""
    if interval is not None:
        context.machine.time_slices.set_time_slice(gpu, _TIME_SLICES[Interval(interval)])


def reset_intervals(context: Context, wanted: Iterable[tuple[GpuUuid, str | None]]) -> None:
    """Set the default on GPUs for which a claim had an interval and no other claim has one.

    Without the driver's program or the GPU, and in MIG mode, there is no setting left. Raises: HardwareError.
    """
    for gpu in [gpu for gpu, interval in wanted if interval is not None]:
        if gpu in context.node.gpus and gpu not in context.others_with_interval():
            try:
                context.machine.time_slices.set_time_slice(gpu, TimeSlice.DEFAULT)
            except (NotFound, NotSupported):
                continue
