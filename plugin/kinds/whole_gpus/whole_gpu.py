"""A whole GPU."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from agent.inventory.published import WholeGpu
from plugin.kinds.kind import CrashPoints, Wanted
from plugin.kinds.used_whole import ClaimedOneGpu
from plugin.kinds.whole_gpus.joined_gpus import JoinedGpusKind
from plugin.machine.context import Context


class ClaimedGpu(ClaimedOneGpu, frozen=True, kw_only=True, tag="gpu"):
    """A whole GPU of a claim."""


class WholeGpuKind(JoinedGpusKind[WholeGpu, ClaimedGpu]):
    """A GPU that one claim has to itself."""

    text = "a whole GPU"
    IS_ALONE = True
    published = WholeGpu
    claimed = ClaimedGpu
    crash_points = CrashPoints(setting_up=("set_mig_mode",), taking_down=())

    def plan(self, wanted: Wanted[WholeGpu]) -> ClaimedGpu:
        """Return the GPU by its UUID, and its partition."""
        published = wanted.published
        partition = UNSET if published.partition is None else published.partition
        return ClaimedGpu(**wanted.common, gpu_uuid=published.gpu.uuid, fabric_partition=partition)

    def find_for_admin(self, _context: Context, devices: Sequence[ClaimedGpu]) -> Sequence[ClaimedGpu]:
        """Return the devices: that a GPU is gone is found when its parts are read."""
        return devices
