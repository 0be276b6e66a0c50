"""A whole GPU whose programs run under MPS, as the claim's configuration says.

One claim has it; its containers, and the pods that share the claim, use it at once. The limits are the
daemon's own, so no program can exceed them.
"""

from __future__ import annotations

from agent.inventory.published import PublishedDevice, WholeGpu
from plugin.kinds import mps
from plugin.kinds.gpus_under_mps.base import ClaimedUnderMps, GpusUnderMpsKind
from plugin.kinds.kind import CrashPoints, Wanted
from plugin.kinds.mps import RecordedLimits
from plugin.machine.context import Context
from plugin.machine.mps.daemon import Daemon


class ClaimedGpuUnderMps(ClaimedUnderMps, frozen=True, kw_only=True, tag="gpu-under-mps"):
    """A whole GPU of a claim, under MPS."""


class GpuUnderMpsKind(GpusUnderMpsKind[WholeGpu, ClaimedGpuUnderMps]):
    """A GPU that one claim has to itself, under MPS."""

    text = "a whole GPU under MPS"
    published = WholeGpu
    claimed = ClaimedGpuUnderMps
    crash_points = CrashPoints(
        setting_up=("set_mig_mode", "set_compute_mode", "start_daemon", "limit_programs"),
        taking_down=("end_daemon", "set_compute_mode", "remove_folders"),
    )

    def takes(self, wanted: Wanted[PublishedDevice]) -> bool:
        """Whether the device is a whole GPU and MPS was asked for."""
        return super().takes(wanted) and mps.sharing_of(wanted.config) is not None

    def plan(self, wanted: Wanted[WholeGpu]) -> ClaimedGpuUnderMps:
        """Return the GPU by its UUID, and the limits."""
        uuid = wanted.published.gpu.uuid
        limits = mps.limits_of(mps.sharing_of(wanted.config), wanted.config_index, uuid)
        return ClaimedGpuUnderMps(**wanted.common, gpu_uuid=uuid, limits=limits)

    def daemon(self, context: Context, device: ClaimedGpuUnderMps) -> Daemon:  # noqa: ARG002
        """Return the daemon, which serves this claim alone and has its limits."""
        return Daemon(
            device=device.device,
            uuid=device.gpu_uuid,
            gpu_uuid=device.gpu_uuid,
            is_exclusive=True,
            active_thread_percentage=device.limits.active_thread_percentage,
            memory_mib=device.limits.memory_mib,
        )

    def limits(self, context: Context, device: ClaimedGpuUnderMps) -> RecordedLimits:  # noqa: ARG002
        """Return the limits of the configuration."""
        return device.limits
