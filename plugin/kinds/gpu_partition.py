"""A partition: whole GPUs that NVLink joins, as one device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from agent.hardware.types import GpuUuid
from agent.inventory.model import GpuPartition, Hardware
from plugin.kinds import gpus
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.machine.context import Context
from plugin.machine.lock_target import LockTarget
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware


class ClaimedGpuPartition(Claimed, frozen=True, kw_only=True, tag="gpus"):
    """A partition of a claim.

    Shape: ``gpu_uuids`` by minor, at least two.
    """

    RECORD_VERSION: ClassVar[int] = 2

    gpu_uuids: tuple[str, ...]

    @property
    def members(self) -> tuple[GpuUuid, ...]:
        """Return the GPUs."""
        return tuple(GpuUuid(uuid) for uuid in self.gpu_uuids)

    @property
    def lock_targets(self) -> tuple[LockTarget, ...]:
        """Return all members."""
        return gpus.lock_targets_of(self.members)

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return frozenset(self.members)

    @property
    def identity(self) -> str:
        """Return the UUIDs that containers get, with commas between them."""
        return ",".join(self.gpu_uuids)

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {"uuids": list(self.gpu_uuids)}

    def as_planned(self) -> Self:
        """Return the device: setting it up adds no fact."""
        return self


class GpuPartitionKind(PreparableKind[GpuPartition, ClaimedGpuPartition]):
    """All members are made whole, or none is; that needs no undoing."""

    text = "an NVLink partition"
    published = GpuPartition
    claimed = ClaimedGpuPartition
    crash_points = CrashPoints(setting_up=("set_mig_mode",), taking_down=())  # once for each member

    def why_ill(self, published: GpuPartition, seen: SeenHardware) -> str:
        """Return why members do not answer."""
        return gpus.why_missing(published.gpus, seen)

    def plan(self, wanted: Wanted[GpuPartition]) -> ClaimedGpuPartition:
        """Return the members by their UUIDs."""
        uuids = tuple(gpu.uuid for gpu in wanted.published.gpus)
        return ClaimedGpuPartition(**wanted.common, gpu_uuids=uuids)

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedGpuPartition]) -> None:
        """Check nothing: members with instances are refused when they are made whole."""

    def set_up(self, context: Context, devices: Sequence[ClaimedGpuPartition], _progress: Progress) -> None:
        """Turn the MIG mode of all members off.

        Raises: PlacementTaken, ModeBlocked, GpuBusy; HardwareError.
        """
        for device in devices:
            gpus.make_whole(context, device.members)

    def find_for_admin(
        self, _context: Context, devices: Sequence[ClaimedGpuPartition]
    ) -> Sequence[ClaimedGpuPartition]:
        """Return the devices: that a GPU is gone is found when its parts are read."""
        return devices

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedGpuPartition]) -> None:
        """Check nothing: a member that does not answer was found when it was made whole."""

    def parts(self, context: Context, device: ClaimedGpuPartition) -> Parts:
        """Return the nodes of all members and the driver's files."""
        return gpus.parts_of(context, device, device.members)

    def pci_addresses(self, published: GpuPartition) -> tuple[str, ...]:
        """Return the addresses of all members."""
        return tuple(gpu.bdf for gpu in published.gpus)

    def take_down(self, context: Context, devices: Sequence[ClaimedGpuPartition]) -> None:
        """Turn the MIG mode off where somebody turned it on and cut nothing."""
        gpus.turn_off_unused_modes(context, (gpu for device in devices for gpu in device.members))

    def forget(self, context: Context, devices: Sequence[ClaimedGpuPartition]) -> None:
        """Do the same: a mode outlives a boot."""
        self.take_down(context, devices)

    def foreign(self, _node: NodeSnapshot, _held: Sequence[ClaimedGpuPartition]) -> Iterable[Foreign]:
        """Yield nothing: a GPU is made by nobody."""
        return ()
