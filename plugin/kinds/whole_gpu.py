"""A whole GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from agent.hardware.types import GpuUuid
from agent.inventory.model import Hardware, WholeGpu
from plugin.kinds import gpus
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.machine.context import Context
from plugin.machine.lock_target import LockTarget
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware


class ClaimedGpu(Claimed, frozen=True, kw_only=True, tag="gpu"):
    """A whole GPU of a claim."""

    gpu_uuid: str

    @property
    def gpu(self) -> GpuUuid:
        """Return the GPU."""
        return GpuUuid(self.gpu_uuid)

    @property
    def lock_targets(self) -> tuple[LockTarget, ...]:
        """Return the GPU."""
        return gpus.lock_targets_of([self.gpu])

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return frozenset({self.gpu})

    @property
    def identity(self) -> str:
        """Return the UUID that containers get."""
        return self.gpu_uuid

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {"uuid": self.gpu_uuid}

    def as_planned(self) -> Self:
        """Return the device: setting it up adds no fact."""
        return self


class WholeGpuKind(PreparableKind[WholeGpu, ClaimedGpu]):
    """Made whole by turning its MIG mode off, which needs no undoing."""

    text = "a whole GPU"
    published = WholeGpu
    claimed = ClaimedGpu
    crash_points = CrashPoints(setting_up=("set_mig_mode",), taking_down=())

    def why_ill(self, published: WholeGpu, seen: SeenHardware) -> str:
        """Return why the GPU does not answer."""
        return gpus.why_missing([published.gpu], seen)

    def plan(self, wanted: Wanted[WholeGpu]) -> ClaimedGpu:
        """Return the GPU by its UUID."""
        return ClaimedGpu(**wanted.common, gpu_uuid=wanted.published.gpu.uuid)

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedGpu]) -> None:
        """Check nothing: a GPU with instances is refused when it is made whole, and nothing is made there."""

    def set_up(self, context: Context, devices: Sequence[ClaimedGpu], _progress: Progress) -> None:
        """Turn the MIG mode off. Raises: PlacementTaken, ModeBlocked, GpuBusy; HardwareError."""
        for device in devices:
            gpus.make_whole(context, [device.gpu])

    def find_for_admin(self, _context: Context, devices: Sequence[ClaimedGpu]) -> Sequence[ClaimedGpu]:
        """Return the devices: that a GPU is gone is found when its parts are read."""
        return devices

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedGpu]) -> None:
        """Check nothing: a GPU that does not answer was found when it was made whole."""

    def parts(self, context: Context, device: ClaimedGpu) -> Parts:
        """Return the nodes of the GPU and the driver's files."""
        return gpus.parts_of(context, device, [device.gpu])

    def pci_addresses(self, published: WholeGpu) -> tuple[str, ...]:
        """Return the GPU's address."""
        return (published.gpu.bdf,)

    def take_down(self, context: Context, devices: Sequence[ClaimedGpu]) -> None:
        """Turn the MIG mode off where somebody turned it on and cut nothing."""
        gpus.turn_off_unused_modes(context, (device.gpu for device in devices))

    def forget(self, context: Context, devices: Sequence[ClaimedGpu]) -> None:
        """Do the same: a mode outlives a boot."""
        self.take_down(context, devices)

    def foreign(self, _node: NodeSnapshot, _held: Sequence[ClaimedGpu]) -> Iterable[Foreign]:
        """Yield nothing: a GPU is made by nobody."""
        return ()
