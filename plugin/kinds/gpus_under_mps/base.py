"""GPUs that are used whole, by programs under MPS: what the kinds for one claim and for several share.

The GPU is made whole, and where nobody else shares it, exclusive to one process, which is the server of its
daemon: a program that goes past the daemon is refused by the driver. The daemon ends with the last claim.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar

from agent.inventory.published import PublishedDevice
from plugin.kinds import mps
from plugin.kinds.kind import Progress
from plugin.kinds.mps import RecordedLimits
from plugin.kinds.used_whole import ClaimedOneGpu, WholeGpusKind
from plugin.machine.context import Context
from plugin.machine.mps.daemon import Daemon
from plugin.machine.parts import Parts


class ClaimedUnderMps(ClaimedOneGpu, frozen=True, kw_only=True):
    """A GPU of a claim under MPS. Shape: ``limits`` those of the claim's configuration."""

    RECORD_VERSION: ClassVar[int] = 3

    limits: RecordedLimits = RecordedLimits()

    @property
    def mps_uuid(self) -> str:
        """Return the GPU, whose daemon the device needs."""
        return self.gpu_uuid


P = TypeVar("P", bound=PublishedDevice)
M = TypeVar("M", bound=ClaimedUnderMps)


class GpusUnderMpsKind(WholeGpusKind[P, M]):
    """A GPU with a daemon."""

    @abstractmethod
    def daemon(self, context: Context, device: M) -> Daemon:
        """Return the daemon that a device needs."""

    @abstractmethod
    def limits(self, context: Context, device: M) -> RecordedLimits:
        """Return what each program of the claim may use."""

    def set_up(self, context: Context, devices: Sequence[M], progress: Progress) -> None:
        """Turn the MIG mode off and have the daemons run.

        Raises: PlacementTaken, ModeBlocked, GpuBusy, StorageFailed; HardwareError.
        """
        super().set_up(context, devices, progress)
        for device in devices:
            context.mps.ensure(self.daemon(context, device))

    def refuse_dead(self, context: Context, devices: Sequence[M]) -> None:
        """Check that the daemons run. Raises: NotReady."""
        for device in devices:
            mps.refuse_gone(context, device.device, device.gpu_uuid)

    def parts(self, context: Context, device: M) -> Parts:
        """Return the nodes of the GPU, the driver's files and what programs need of the daemon."""
        limits = self.limits(context, device)
        return mps.under_mps(context, super().parts(context, device), device.gpu_uuid, limits)

    def take_down(self, context: Context, devices: Sequence[M]) -> None:
        """End the daemons that no other claim needs. Raises: HardwareError, StorageFailed."""
        mps.end_unused(context, [device.gpu_uuid for device in devices])
        super().take_down(context, devices)

    def forget(self, context: Context, devices: Sequence[M]) -> None:
        """Do the same; with the boot the daemons and their folders are gone."""
        self.take_down(context, devices)
