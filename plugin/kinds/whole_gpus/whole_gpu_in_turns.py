"""A whole GPU for one claim, whose programs take turns by an interval of the claim's configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from agent.inventory.published import PublishedDevice, WholeGpu
from plugin.kinds.kind import CrashPoints, Progress, Wanted
from plugin.kinds.used_whole import ClaimedOneGpu, WholeGpusKind
from plugin.kinds.whole_gpus.intervals import interval_of, reset_intervals, set_interval
from plugin.machine.context import Context


class ClaimedGpuInTurns(ClaimedOneGpu, frozen=True, kw_only=True, tag="gpu-in-turns"):
    """A whole GPU of a claim. Shape: ``turns`` the interval, as the configuration names it."""

    RECORD_VERSION: ClassVar[int] = 3

    turns: str

    @property
    def interval(self) -> str:
        """Return the interval of time slicing."""
        return self.turns


class GpuInTurnsKind(WholeGpusKind[WholeGpu, ClaimedGpuInTurns]):
    """A GPU that one claim has to itself; the end of the claim sets the driver's default."""

    text = "a whole GPU with an interval of time slicing"
    published = WholeGpu
    claimed = ClaimedGpuInTurns
    crash_points = CrashPoints(setting_up=("set_mig_mode", "set_time_slice"), taking_down=("set_time_slice",))

    def takes(self, wanted: Wanted[PublishedDevice]) -> bool:
        """Whether the device is a whole GPU and an interval was asked for; who only looks sets none."""
        is_own = wanted.common.get("admin_access") is not True
        return super().takes(wanted) and is_own and interval_of(wanted.config) is not None

    def plan(self, wanted: Wanted[WholeGpu]) -> ClaimedGpuInTurns:
        """Return the GPU by its UUID, and the interval."""
        turns = interval_of(wanted.config) or ""
        return ClaimedGpuInTurns(**wanted.common, gpu_uuid=wanted.published.gpu.uuid, turns=turns)

    def set_up(self, context: Context, devices: Sequence[ClaimedGpuInTurns], progress: Progress) -> None:
        """Turn the MIG mode off and set the intervals.

        Raises: PlacementTaken, ModeBlocked, GpuBusy; HardwareError.
        """
        super().set_up(context, devices, progress)
        for device in devices:
            set_interval(context, device.gpu, device.interval)

    def take_down(self, context: Context, devices: Sequence[ClaimedGpuInTurns]) -> None:
        """Set the default. Raises: HardwareError."""
        reset_intervals(context, ((device.gpu, device.interval) for device in devices))
        super().take_down(context, devices)
