"""A share of a GPU that several claims use at once.

The GPU is used whole, so its MIG mode is off. Programs take turns on it, as the driver does for any programs
on one GPU. The share is told to the container; the driver does not enforce it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from agent.hardware.types import GpuUuid
from agent.inventory.model import InShares, SharedGpu
from agent.inventory.shared_gpus import MEMORY, MULTIPROCESSORS
from plugin.kinds import gpus
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.machine.context import Context
from plugin.machine.lock_target import LockTarget
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware
from plugin.machine.share import Share


class ClaimedGpuShare(Claimed, frozen=True, kw_only=True, tag="gpu-share"):
    """A share of a GPU of a claim.

    Shape: ``amounts`` what it consumes, by capacity with its domain, as quantities in text.
    """

    RECORD_VERSION: ClassVar[int] = 3

    gpu_uuid: str
    share_id: str
    amounts: dict[str, str]

    @property
    def gpu(self) -> GpuUuid:
        """Return the GPU."""
        return GpuUuid(self.gpu_uuid)

    @property
    def share(self) -> Share:
        """Return the share as the allocation says it."""
        return Share.of_texts(self.share_id, self.amounts)

    @property
    def lock_targets(self) -> tuple[LockTarget, ...]:
        """Return the GPU."""
        return gpus.lock_targets_of([self.gpu])

    @property
    def hardware(self) -> InShares:
        """Return what the device is, whatever its published name is now."""
        return InShares(self.gpu)

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


class SharedGpuKind(PreparableKind[SharedGpu, ClaimedGpuShare]):
    """Made whole by turning the MIG mode off, which needs no undoing: other claims may have shares, too."""

    text = "a share of a GPU"
    published = SharedGpu
    claimed = ClaimedGpuShare
    crash_points = CrashPoints(setting_up=("set_mig_mode",), taking_down=())

    def why_ill(self, published: SharedGpu, seen: SeenHardware) -> str:
        """Return why the GPU does not answer."""
        return gpus.why_missing([published.gpu], seen)

    def plan(self, wanted: Wanted[SharedGpu]) -> ClaimedGpuShare:
        """Return the GPU by its UUID, and the share."""
        share = wanted.share or Share("")
        uuid = wanted.published.gpu.uuid
        return ClaimedGpuShare(
            **wanted.common, gpu_uuid=uuid, share_id=share.id, amounts=dict(share.as_texts())
        )

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedGpuShare]) -> None:
        """Check nothing: a GPU with instances is refused when it is made whole, and nothing is made there."""

    def set_up(self, context: Context, devices: Sequence[ClaimedGpuShare], _progress: Progress) -> None:
        """Turn the MIG mode off. Raises: PlacementTaken, ModeBlocked, GpuBusy; HardwareError."""
        for device in devices:
            gpus.make_whole(context, [device.gpu])

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedGpuShare]) -> None:
        """Check nothing: a GPU that does not answer was found when it was made whole."""

    def parts(self, context: Context, device: ClaimedGpuShare) -> Parts:
        """Return the nodes of the GPU, the driver's files, and what the container is told of its share."""
        found = context.gpu_parts.of_gpus([device.gpu])
        return Parts(found.nodes, found.files, tuple(_told(device.share)))

    def take_down(self, context: Context, devices: Sequence[ClaimedGpuShare]) -> None:
        """Turn the MIG mode off where somebody turned it on and cut nothing."""
        gpus.turn_off_unused_modes(context, (device.gpu for device in devices))

    def forget(self, context: Context, devices: Sequence[ClaimedGpuShare]) -> None:
        """Do the same: a mode outlives a boot."""
        self.take_down(context, devices)

    def foreign(self, _node: NodeSnapshot, _held: Sequence[ClaimedGpuShare]) -> Iterable[Foreign]:
        """Yield nothing: a GPU is made by nobody."""
        return ()


def _told(share: Share) -> Iterable[tuple[str, str]]:
    """Yield what a container is told of a share: bytes, and multiprocessors where the claim names some."""
    memory, processors = share.whole(MEMORY), share.whole(MULTIPROCESSORS)
    if memory is not None:
        yield "MEMORY_BYTES", str(memory)
    if processors:
        yield "MULTIPROCESSORS", str(processors)
