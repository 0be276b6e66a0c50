"""A share of a GPU that several claims use at once.

The GPU is used whole, so its MIG mode is off. Programs take turns on it, as the driver does for any programs
on one GPU, and by the interval that the claims ask for. The share is told to the container; the driver does
not enforce it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Self

import msgspec
from msgspec import UNSET, UnsetType

from agent.inventory.published import InShares, SharedGpu
from agent.inventory.shared_gpus import MEMORY, MULTIPROCESSORS
from plugin.kinds.kind import CrashPoints, Progress, Wanted
from plugin.kinds.used_whole import ClaimedOneGpu, WholeGpusKind
from plugin.kinds.whole_gpus.intervals import interval_of, reset_intervals, set_interval
from plugin.machine.context import Context
from plugin.machine.parts import Parts
from plugin.machine.share import Share


class ClaimedGpuShare(ClaimedOneGpu, frozen=True, kw_only=True, tag="gpu-share"):
    """A share of a GPU of a claim.

    Shape: ``amounts`` what it consumes, by capacity with its domain, as quantities in text; ``turns`` the
           interval of time slicing, not there where the claim asks for none.
    """

    RECORD_VERSION: ClassVar[int] = 3

    share_id: str
    amounts: dict[str, str]
    turns: str | UnsetType = UNSET

    @property
    def interval(self) -> str | None:
        """Return the interval of time slicing that the claim asks for, None where it asks for none."""
        return None if self.turns is UNSET else self.turns

    @property
    def share(self) -> Share:
        """Return the share as the allocation says it."""
        return Share.of_texts(self.share_id, self.amounts)

    def with_share(self, share: Share) -> Self:
        """Return the device with another share of its GPU."""
        return msgspec.structs.replace(self, share_id=share.id, amounts=dict(share.as_texts()))

    @property
    def hardware(self) -> InShares:
        """Return what the device is, whatever its published name is now."""
        return InShares(self.gpu)


class SharedGpuKind(WholeGpusKind[SharedGpu, ClaimedGpuShare]):
    """A GPU whose shares several claims have; the end of one claim touches no other."""

    text = "a share of a GPU"
    published = SharedGpu
    claimed = ClaimedGpuShare
    crash_points = CrashPoints(setting_up=("set_mig_mode", "set_time_slice"), taking_down=("set_time_slice",))

    def plan(self, wanted: Wanted[SharedGpu]) -> ClaimedGpuShare:
        """Return the GPU by its UUID, and the share."""
        share = wanted.share or Share("")
        uuid = wanted.published.gpu.uuid
        return ClaimedGpuShare(
            **wanted.common,
            gpu_uuid=uuid,
            share_id=share.id,
            amounts=dict(share.as_texts()),
            turns=interval_of(wanted.config) or UNSET,
        )

    def set_up(self, context: Context, devices: Sequence[ClaimedGpuShare], progress: Progress) -> None:
        """Turn the MIG mode off and set the intervals.

        Raises: PlacementTaken, ModeBlocked, GpuBusy; HardwareError.
        """
        super().set_up(context, devices, progress)
        for device in devices:
            set_interval(context, device.gpu, device.interval)

    def take_down(self, context: Context, devices: Sequence[ClaimedGpuShare]) -> None:
        """Set the default where no other claim has an interval. Raises: HardwareError."""
        reset_intervals(context, ((device.gpu, device.interval) for device in devices))
        super().take_down(context, devices)

    def parts(self, context: Context, device: ClaimedGpuShare) -> Parts:
        """Return the nodes of the GPU, the driver's files, and what the container is told of its share."""
        return replace(super().parts(context, device), told=tuple(_told(device.share)))


def _told(share: Share) -> Iterable[tuple[str, str]]:
    """Yield what a container is told of a share: bytes, and multiprocessors where the claim names some."""
    memory, processors = share.whole(MEMORY), share.whole(MULTIPROCESSORS)
    if memory is not None:
        yield "MEMORY_BYTES", str(memory)
    if processors:
        yield "MULTIPROCESSORS", str(processors)
