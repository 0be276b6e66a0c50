"""A partition: whole GPUs that NVLink joins, as one device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec import UNSET

from agent.hardware.types import GpuUuid
from agent.inventory.published import GpuPartition
from plugin.kinds.kind import CrashPoints, Wanted
from plugin.kinds.used_whole import ClaimedWholeGpus
from plugin.kinds.whole_gpus.joined_gpus import JoinedGpusKind
from plugin.machine.context import Context


class ClaimedGpuPartition(ClaimedWholeGpus, frozen=True, kw_only=True, tag="gpus"):
    """A partition of a claim.

    Shape: ``gpu_uuids`` by number, at least two.
    """

    RECORD_VERSION: ClassVar[int] = 2

    gpu_uuids: tuple[str, ...]

    @property
    def members(self) -> tuple[GpuUuid, ...]:
        """Return the GPUs."""
        return tuple(GpuUuid(uuid) for uuid in self.gpu_uuids)

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {"uuids": list(self.gpu_uuids)}


class GpuPartitionKind(JoinedGpusKind[GpuPartition, ClaimedGpuPartition]):
    """All members are made whole, or none is."""

    text = "an NVLink partition"
    IS_ALONE = False
    published = GpuPartition
    claimed = ClaimedGpuPartition
    crash_points = CrashPoints(setting_up=("set_mig_mode",), taking_down=())  # once for each member

    def plan(self, wanted: Wanted[GpuPartition]) -> ClaimedGpuPartition:
        """Return the members by their UUIDs, and the fabric manager's partition of them."""
        published = wanted.published
        uuids = tuple(gpu.uuid for gpu in published.gpus)
        partition = UNSET if published.partition is None else published.partition
        return ClaimedGpuPartition(**wanted.common, gpu_uuids=uuids, fabric_partition=partition)

    def find_for_admin(
        self, _context: Context, devices: Sequence[ClaimedGpuPartition]
    ) -> Sequence[ClaimedGpuPartition]:
        """Return the devices: that a GPU is gone is found when its parts are read."""
        return devices
