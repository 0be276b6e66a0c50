"""A whole GPU."""

from __future__ import annotations

from collections.abc import Sequence

from agent.inventory.model import WholeGpu
from plugin.kinds.kind import CrashPoints, Wanted
from plugin.kinds.whole_gpus import ClaimedOneGpu, WholeGpusKind
from plugin.machine.context import Context


class ClaimedGpu(ClaimedOneGpu, frozen=True, kw_only=True, tag="gpu"):
    """A whole GPU of a claim."""


class WholeGpuKind(WholeGpusKind[WholeGpu, ClaimedGpu]):
    """A GPU that one claim has to itself."""

    text = "a whole GPU"
    published = WholeGpu
    claimed = ClaimedGpu
    crash_points = CrashPoints(setting_up=("set_mig_mode",), taking_down=())

    def plan(self, wanted: Wanted[WholeGpu]) -> ClaimedGpu:
        """Return the GPU by its UUID."""
        return ClaimedGpu(**wanted.common, gpu_uuid=wanted.published.gpu.uuid)

    def find_for_admin(self, _context: Context, devices: Sequence[ClaimedGpu]) -> Sequence[ClaimedGpu]:
        """Return the devices: that a GPU is gone is found when its parts are read."""
        return devices
