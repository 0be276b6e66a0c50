"""A MIG partition whose programs run under MPS: its instance is made first, then a daemon for its MIG device.

One claim has it; its containers, and the pods that share the claim, use it at once. What the driver says of
the instance's health is as without MPS.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from agent.inventory.published import MigPartition, PublishedDevice
from plugin.kinds import mps
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import CrashPoints, Foreign, Progress, Wanted
from plugin.kinds.mig_partition.claimed import ClaimedMigDevice, ClaimedMigPartition
from plugin.kinds.mig_partition.kind import MigKind, planned_fields
from plugin.kinds.mps import RecordedLimits
from plugin.machine.context import Context
from plugin.machine.mps.daemon import Daemon
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts


class ClaimedMigUnderMps(ClaimedMigPartition, frozen=True, kw_only=True, tag="mig-under-mps"):
    """A MIG partition of a claim, under MPS. Shape: ``limits`` those of the claim's configuration."""

    RECORD_VERSION: ClassVar[int] = 3

    limits: RecordedLimits = RecordedLimits()

    @property
    def mps_uuid(self) -> str | None:
        """Return the MIG device, whose daemon serves this claim alone; None until it is made."""
        return self.mig_uuid

    def daemon(self, mig_uuid: str) -> Daemon:
        """Return the daemon of the MIG device. A GPU in MIG mode has no exclusive compute mode."""
        return Daemon(
            device=self.device,
            uuid=mig_uuid,
            gpu_uuid=self.parent_uuid,
            is_exclusive=False,
            active_thread_percentage=self.limits.active_thread_percentage,
            memory_mib=self.limits.memory_mib,
        )


class MigUnderMpsKind(MigKind[ClaimedMigUnderMps]):
    """One GI that one CI fills, with a daemon."""

    text = "a MIG partition under MPS"
    claimed = ClaimedMigUnderMps
    crash_points = CrashPoints(
        setting_up=(
            "set_mig_mode",
            "create_gpu_instance",
            "create_compute_instance",
            "start_daemon",
            "limit_programs",
        ),
        taking_down=(
            "end_daemon",
            "remove_folders",
            "destroy_compute_instance",
            "destroy_gpu_instance",
            "set_mig_mode",
        ),
        noted=("the GI's id", "the MIG device"),
    )

    def takes(self, wanted: Wanted[PublishedDevice]) -> bool:
        """Whether the device is a MIG partition and MPS was asked for."""
        return super().takes(wanted) and mps.sharing_of(wanted.config) is not None

    def plan(self, wanted: Wanted[MigPartition]) -> ClaimedMigUnderMps:
        """Return the partition by its parent's UUID, its profile and its placement, and the limits."""
        limits = mps.limits_of(mps.sharing_of(wanted.config), wanted.config_index)
        return ClaimedMigUnderMps(**wanted.common, **planned_fields(wanted.published), limits=limits)

    def set_up(self, context: Context, devices: Sequence[ClaimedMigUnderMps], progress: Progress) -> None:
        """Create the instances, then have their daemons run.

        Raises: ModeBlocked, GpuBusy, PlacementTaken, StorageFailed; HardwareError.
        """
        made = _Made(progress)
        super().set_up(context, devices, made)
        for before in devices:
            device = made.devices[before.device]
            if device != before:
                progress.note(device)  # before the daemon, which is found by the MIG device
            if before.mig_uuid not in {None, device.mig_uuid}:
                context.mps.end(str(before.mig_uuid))
            context.mps.ensure(before.daemon(str(device.mig_uuid)))

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedMigUnderMps]) -> None:
        """Check that every MIG device and its daemon are alive. Raises: NotReady; HardwareError."""
        super().refuse_dead(context, devices)
        for device in devices:
            mps.refuse_gone(context, device.device, str(device.mig_uuid))

    def parts(self, context: Context, device: ClaimedMigUnderMps) -> Parts:
        """Return the nodes of the parent and of the instance, the driver's files, and those of the daemon."""
        found = super().parts(context, device)
        return mps.under_mps(context, found, str(device.mig_uuid), device.limits)

    def take_down(self, context: Context, devices: Sequence[ClaimedMigUnderMps]) -> None:
        """End the daemons, then destroy the instances. Raises: HardwareError, StorageFailed."""
        mps.end_unused(context, [device.mig_uuid for device in devices if device.mig_uuid is not None])
        super().take_down(context, devices)

    def foreign(self, _node: NodeSnapshot, _held: Sequence[ClaimedMigDevice]) -> Iterable[Foreign]:
        """Yield nothing: instances that no claim created are told of once, as those without MPS."""
        return ()


class _Made:
    """Passes on what is known, and keeps the devices as they were made; implements ``Progress``."""

    def __init__(self, progress: Progress) -> None:
        self.devices: dict[str, ClaimedMigUnderMps] = {}
        self._progress = progress

    def know(self, device: Claimed) -> None:
        assert isinstance(device, ClaimedMigUnderMps)
        self.devices[device.device] = device
        self._progress.know(device)

    def note(self, device: Claimed) -> None:
        self._progress.note(device)
