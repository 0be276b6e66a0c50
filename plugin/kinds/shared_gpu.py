"""A share of a GPU that several claims use at once.

The GPU is used whole, so its MIG mode is off. Programs take turns on it, as the driver does for any programs
on one GPU. The share is told to the container; the driver does not enforce it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from agent.inventory.model import InShares, SharedGpu
from agent.inventory.shared_gpus import MEMORY, MULTIPROCESSORS
from plugin.kinds.kind import CrashPoints, Wanted
from plugin.kinds.whole_gpus import ClaimedOneGpu, WholeGpusKind
from plugin.machine.context import Context
from plugin.machine.parts import Parts
from plugin.machine.share import Share


class ClaimedGpuShare(ClaimedOneGpu, frozen=True, kw_only=True, tag="gpu-share"):
    """A share of a GPU of a claim.

    Shape: ``amounts`` what it consumes, by capacity with its domain, as quantities in text.
    """

    RECORD_VERSION: ClassVar[int] = 3

    share_id: str
    amounts: dict[str, str]

    @property
    def share(self) -> Share:
        """Return the share as the allocation says it."""
        return Share.of_texts(self.share_id, self.amounts)

    @property
    def hardware(self) -> InShares:
        """Return what the device is, whatever its published name is now."""
        return InShares(self.gpu)


class SharedGpuKind(WholeGpusKind[SharedGpu, ClaimedGpuShare]):
    """A GPU whose shares several claims have; the end of one claim touches no other."""

    text = "a share of a GPU"
    published = SharedGpu
    claimed = ClaimedGpuShare
    crash_points = CrashPoints(setting_up=("set_mig_mode",), taking_down=())

    def plan(self, wanted: Wanted[SharedGpu]) -> ClaimedGpuShare:
        """Return the GPU by its UUID, and the share."""
        share = wanted.share or Share("")
        uuid = wanted.published.gpu.uuid
        return ClaimedGpuShare(
            **wanted.common, gpu_uuid=uuid, share_id=share.id, amounts=dict(share.as_texts())
        )

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
