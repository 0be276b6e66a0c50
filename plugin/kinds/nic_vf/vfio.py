"""A VF for VFIO: its driver is recorded, then vfio-pci gets it.

Containers get the nodes of its IOMMU group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import msgspec

from agent.hardware.errors import NotThereYet
from agent.hardware.nics.types import VFIO_PCI
from agent.inventory.published import NicVf, PublishedDevice
from plugin.base.errors import NotReady
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.kinds.nic_vf import binding, settings
from plugin.kinds.nic_vf.claimed import ClaimedVf, RecordedBinding, place_of
from plugin.kinds.nic_vf.presence import refuse_unusable, restore_settings, with_settings
from plugin.machine.context import Context
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts, usable_nodes
from plugin.machine.seen import SeenHardware
from scheduler_core.frontends.configuration.values import VfConfig, VfMode


class ClaimedVfioVf(ClaimedVf, frozen=True, kw_only=True, tag="vf-vfio"):
    """A VF that a claim has for VFIO.

    Shape: ``iommu_group`` None until its nodes are there.
    """

    iommu_group: int | None = None

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {**super().status_data, "iommuGroup": self.iommu_group}

    def as_planned(self) -> Self:
        """Return the device without what was there before and its group."""
        return msgspec.structs.replace(super().as_planned(), iommu_group=None)


class VfioVfKind(PreparableKind[NicVf, ClaimedVfioVf]):
    """The PF's settings are made first, so that a program finds them; then the driver changes."""

    text = "a NIC's virtual function, for VFIO"
    published = NicVf
    claimed = ClaimedVfioVf
    crash_points = CrashPoints(
        setting_up=("write", "give_to"),
        taking_down=("restore", "restore"),
        noted=("the settings before", "the driver before"),
    )

    def takes(self, wanted: Wanted[PublishedDevice]) -> bool:
        """Whether the device is a VF and mode vfio was asked for."""
        config = wanted.config
        is_asked_for = isinstance(config, VfConfig) and config.mode is VfMode.VFIO
        return super().takes(wanted) and is_asked_for

    def why_ill(self, published: NicVf, seen: SeenHardware) -> str:
        """Return why the function does not answer."""
        return seen.why_function_is_missing(published.watched)

    def plan(self, wanted: Wanted[NicVf]) -> ClaimedVfioVf:
        """Return the VF by its addresses."""
        config = wanted.config if isinstance(wanted.config, VfConfig) else VfConfig()
        place = place_of(wanted.published)
        return ClaimedVfioVf(**wanted.common, **place, settings=settings.wanted(config))

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedVfioVf]) -> None:
        """Check the VFs and their whole IOMMU groups. Raises: NotReady; HardwareError."""
        reader = context.machine.nics.reader
        for device in devices:
            refuse_unusable(context.machine.nics, device)
            binding.refuse_unfit(reader, device, [one.bdf for one in devices])

    def set_up(self, context: Context, devices: Sequence[ClaimedVfioVf], progress: Progress) -> None:
        """Make the PFs' settings and give the VFs to vfio-pci. Raises: NotReady; HardwareError."""
        nics = context.machine.nics
        self.refuse_occupied(context, devices)
        for planned in devices:
            device = with_settings(nics, planned, progress)
            if device.before is None:
                found = nics.reader.binding(device.bdf)
                before = RecordedBinding(driver=found.driver, override=found.override)
                device = msgspec.structs.replace(device, before=before)
                progress.note(device)
            nics.functions.give_to(device.bdf, VFIO_PCI)
            progress.know(msgspec.structs.replace(device, iommu_group=_awaited_group(context, device)))

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedVfioVf]) -> None:
        """Check that the VFs are still bound to vfio-pci. Raises: NotReady; HardwareError."""
        for device in devices:
            driver = context.machine.nics.reader.binding(device.bdf).driver
            if driver != VFIO_PCI:
                raise NotReady("use", f"device {device.device}", f"it has driver {driver}, not {VFIO_PCI}")

    def parts(self, context: Context, device: ClaimedVfioVf) -> Parts:
        """Return the nodes of VFIO, and those of iommufd where the host has them."""
        found = context.machine.nics.reader.vfio_nodes(device.bdf)
        nodes = (found.container, found.group, *(found.iommufd or ()))
        return Parts(usable_nodes(nodes, context.host_root))

    def take_down(self, context: Context, devices: Sequence[ClaimedVfioVf]) -> None:
        """Restore settings and drivers, the last VF first. Raises: HardwareError.

        The settings come first: a kernel driver takes the MAC that it finds when it starts.
        """
        for device in reversed(devices):
            restore_settings(context.machine.nics, device)
            binding.give_back(context.machine.nics, device)

    def forget(self, context: Context, devices: Sequence[ClaimedVfioVf]) -> None:
        """Undo nothing: no VF outlives a boot, and neither do its driver and settings."""

    def foreign(self, _node: NodeSnapshot, _held: Sequence[ClaimedVfioVf]) -> Iterable[Foreign]:
        """Yield nothing: an operator may have given any VF to VFIO."""
        return ()


def _awaited_group(context: Context, device: ClaimedVfioVf) -> int:
    """Wait for the nodes and return the group. Raises: NotReady; HardwareError."""
    reader = context.machine.nics.reader
    told = "there are no nodes of VFIO"

    def look() -> int | None:
        nonlocal told
        try:
            reader.vfio_nodes(device.bdf)
        except NotThereYet as error:
            told = error.reason
            return None
        group = reader.iommu_group(device.bdf)
        return group.number if group is not None else None

    found = context.waiting.until(look)
    if found is None:
        reason = f"{told} after {context.waiting.most_s:g} s"
        raise NotReady("use", f"device {device.device} (VF {device.bdf})", reason)
    return found
