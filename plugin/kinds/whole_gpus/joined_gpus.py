"""Whole GPUs that one claim has to itself, with the links between them.

On most machines all links are up from boot. In Shared NVSwitch mode the fabric manager's partition of exactly
these GPUs is activated once they are whole, and deactivated before anybody else gets them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeVar

from agent.inventory.published import PublishedDevice
from plugin.kinds.kind import Foreign, Progress
from plugin.kinds.used_whole import ClaimedWholeGpus, WholeGpusKind
from plugin.kinds.whole_gpus import fabric
from plugin.machine.context import Context
from plugin.machine.node import NodeSnapshot

P = TypeVar("P", bound=PublishedDevice)
W = TypeVar("W", bound=ClaimedWholeGpus)


class JoinedGpusKind(WholeGpusKind[P, W]):
    """The kinds of one GPU and of several. Shape: ``IS_ALONE`` for one."""

    IS_ALONE: ClassVar[bool]

    def refuse_occupied(self, context: Context, devices: Sequence[W]) -> None:
        """Check that nobody else joined the GPUs. Raises: PlacementTaken, NotReady; HardwareError."""
        fabric.refuse_occupied(context, devices)

    def set_up(self, context: Context, devices: Sequence[W], progress: Progress) -> None:
        """Turn the MIG mode off and join the GPUs.

        Raises: PlacementTaken, ModeBlocked, GpuBusy, NotReady; HardwareError.
        """
        super().set_up(context, devices, progress)
        for device in devices:
            fabric.activate(context, device, progress)

    def take_down(self, context: Context, devices: Sequence[W]) -> None:
        """Part the GPUs; turn the MIG mode off where somebody turned it on and cut nothing."""
        fabric.deactivate(context, devices)
        super().take_down(context, devices)

    def forget(self, context: Context, devices: Sequence[W]) -> None:
        """Do the same: a fabric manager that keeps its state may still join them after a boot."""
        self.take_down(context, devices)

    def foreign(self, node: NodeSnapshot, held: Sequence[W]) -> Iterable[Foreign]:
        """Yield the active partitions that no claim activated."""
        return fabric.foreign(node, held, is_alone=self.IS_ALONE)
