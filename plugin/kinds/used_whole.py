"""GPUs that are used whole: what the kinds for one of them, for several and for shares have in common.

Takes claimed devices; the MIG mode of their GPUs is turned off, which needs no undoing. A kind adds what it
plans and whatever else its containers get.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self, TypeVar

from msgspec import UNSET, UnsetType

from agent.hardware.types import GpuUuid
from agent.inventory.published import Hardware, PublishedDevice, gpus_of
from plugin.kinds import gpus
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Foreign, PreparableKind, Progress
from plugin.machine.context import Context
from plugin.machine.lock_target import LockTarget
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware

_VERSION_WITH_FABRIC: Final = 3


class ClaimedWholeGpus(Claimed, frozen=True, kw_only=True):
    """GPUs of a claim that are used whole.

    Shape: ``fabric_partition`` is the fabric manager's that must be active, not there where none is needed.
    """

    fabric_partition: int | UnsetType = UNSET

    @property
    def record_version(self) -> int:
        """Return the lowest version that can express the device: an older plugin would leave it active."""
        least = super().record_version
        return least if self.fabric_partition is UNSET else max(least, _VERSION_WITH_FABRIC)

    @property
    @abstractmethod
    def members(self) -> tuple[GpuUuid, ...]:
        """Return the GPUs."""

    @property
    def lock_targets(self) -> tuple[LockTarget, ...]:
        """Return all GPUs."""
        return gpus.lock_targets_of(self.members)

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return frozenset(self.members)

    @property
    def identity(self) -> str:
        """Return the UUIDs that containers get, with commas between them."""
        return ",".join(self.members)

    def as_planned(self) -> Self:
        """Return the device: making a GPU whole adds no fact."""
        return self


class ClaimedOneGpu(ClaimedWholeGpus, frozen=True, kw_only=True):
    """One GPU of a claim that is used whole."""

    gpu_uuid: str

    @property
    def gpu(self) -> GpuUuid:
        """Return the GPU."""
        return GpuUuid(self.gpu_uuid)

    @property
    def members(self) -> tuple[GpuUuid, ...]:
        """Return the GPU."""
        return (self.gpu,)

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {"uuid": self.gpu_uuid}


P = TypeVar("P", bound=PublishedDevice)
W = TypeVar("W", bound=ClaimedWholeGpus)


class WholeGpusKind(PreparableKind[P, W]):
    """The GPUs of a device are made whole together, or none is; that needs no undoing."""

    def why_ill(self, published: P, seen: SeenHardware) -> str:
        """Return why GPUs do not answer."""
        return gpus.why_missing(gpus_of(published), seen)

    def pci_addresses(self, published: P) -> tuple[str, ...]:
        """Return the addresses of the GPUs."""
        return tuple(gpu.bdf for gpu in gpus_of(published))

    def refuse_occupied(self, context: Context, devices: Sequence[W]) -> None:
        """Check nothing: a GPU with instances is refused when it is made whole, and nothing is made there."""

    def set_up(self, context: Context, devices: Sequence[W], progress: Progress) -> None:  # noqa: ARG002
        """Turn the MIG mode off. Raises: PlacementTaken, ModeBlocked, GpuBusy; HardwareError."""
        for device in devices:
            context.mig_modes.turn_off_together(*(context.node.gpus[gpu] for gpu in device.members))

    def refuse_dead(self, context: Context, devices: Sequence[W]) -> None:
        """Check nothing: a GPU that does not answer was found when it was made whole."""

    def parts(self, context: Context, device: W) -> Parts:
        """Return the nodes of the GPUs and the driver's files.

        With admin access also what shows the GPUs' MIG instances. Raises: HardwareError; NotReady.
        """
        parts = context.gpu_parts
        if device.has_admin_access:
            return parts.of_monitored_gpus(device.members)
        return parts.of_gpus(device.members)

    def take_down(self, context: Context, devices: Sequence[W]) -> None:
        """Turn the MIG mode off where somebody turned it on and cut nothing."""
        self._turn_off(context, devices)

    def forget(self, context: Context, devices: Sequence[W]) -> None:
        """Turn the MIG mode off, too: a mode outlives a boot."""
        self._turn_off(context, devices)

    def foreign(self, node: NodeSnapshot, held: Sequence[W]) -> Iterable[Foreign]:  # noqa: ARG002
        """Yield nothing: a GPU is made by nobody."""
        return ()

    def _turn_off(self, context: Context, devices: Sequence[W]) -> None:
        members = (gpu for device in devices for gpu in device.members)
        gpus.turn_off_unused_modes(context, members, was_off=True)
