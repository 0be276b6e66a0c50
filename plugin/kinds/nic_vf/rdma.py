"""A VF for RDMA: it keeps its kernel driver, and containers get the device nodes of its RDMA device.

Only what its PF keeps of it is changed, where the configuration says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import msgspec

from agent.inventory.judgement import modes_of
from agent.inventory.published import NicVf, PublishedDevice
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.kinds.nic_vf import binding, guids, settings
from plugin.kinds.nic_vf.claimed import ClaimedVf, place_of
from plugin.kinds.nic_vf.presence import refuse_unusable, restore_settings, with_settings
from plugin.machine import rdma
from plugin.machine.context import Context
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware
from scheduler_core.frontends.configuration.values import VfConfig, VfMode


class ClaimedRdmaVf(ClaimedVf, frozen=True, kw_only=True, tag="vf-rdma"):
    """A VF that a claim has for RDMA.

    Shape: ``with_management`` whether umad and issm are wanted; ``rdma_devices`` the names, none until they
           are known.
    """

    with_management: bool = False
    rdma_devices: tuple[str, ...] = ()

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {**super().status_data, "rdmaDevices": list(self.rdma_devices)}

    def as_planned(self) -> Self:
        """Return the device without what is known of its RDMA devices and of its settings before."""
        return msgspec.structs.replace(super().as_planned(), rdma_devices=())


class RdmaVfKind(PreparableKind[NicVf, ClaimedRdmaVf]):
    """The PF's settings are made first, then the RDMA device is awaited."""

    text = "a NIC's virtual function, for RDMA"
    published = NicVf
    claimed = ClaimedRdmaVf
    crash_points = CrashPoints(
        setting_up=("write",), taking_down=("restore",), noted=("the settings before",)
    )

    def takes(self, wanted: Wanted[PublishedDevice]) -> bool:
        """Whether the device is a VF with RDMA, and no other mode was asked for."""
        config = wanted.config
        mode = config.mode if isinstance(config, VfConfig) else None
        found = wanted.published
        is_asked_for = mode in (None, VfMode.RDMA)
        return is_asked_for and isinstance(found, NicVf) and VfMode.RDMA in modes_of(found)

    def why_ill(self, published: NicVf, seen: SeenHardware) -> str:
        """Return why the function does not answer."""
        return seen.why_function_is_missing(published.watched)

    def plan(self, wanted: Wanted[NicVf]) -> ClaimedRdmaVf:
        """Return the VF by its addresses."""
        config = wanted.config if isinstance(wanted.config, VfConfig) else VfConfig()
        return ClaimedRdmaVf(
            **wanted.common,
            **place_of(wanted.published),
            settings=settings.wanted(config),
            with_management=bool(config.management_devices),
        )

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedRdmaVf]) -> None:
        """Check that the VFs are still those that were allocated. Raises: NotReady; HardwareError."""
        for device in devices:
            refuse_unusable(context.machine.nics, device)

    def set_up(self, context: Context, devices: Sequence[ClaimedRdmaVf], progress: Progress) -> None:
        """Set what the PFs keep of the VFs and wait for the RDMA devices. Raises: NotReady; HardwareError."""
        self.refuse_occupied(context, devices)  # VFs on demand exist only now
        ready = [with_settings(context.machine.nics, device, progress) for device in devices]
        for device in ready:
            guids.take_effect(context, device)
        found = rdma.awaited(context, [device.bdf for device in ready])
        for device in ready:
            names = tuple(one.name for one in found[device.bdf])
            progress.know(msgspec.structs.replace(device, rdma_devices=names))

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedRdmaVf]) -> None:
        """Check that the RDMA devices are those that were found. Raises: NotReady; HardwareError."""
        for device in devices:
            rdma.refuse_other(context.machine.nics.reader, device.bdf, device.device, device.rdma_devices)

    def parts(self, context: Context, device: ClaimedRdmaVf) -> Parts:
        """Return the nodes of the RDMA devices. Raises: NotReady; HardwareError."""
        found = rdma.complete(context.machine.nics.reader, device.bdf)
        return Parts(rdma.nodes(found, context.host_root, with_management=device.with_management))

    def take_down(self, context: Context, devices: Sequence[ClaimedRdmaVf]) -> None:
        """Restore what the PFs kept of the VFs, the last one first. Raises: HardwareError."""
        for device in reversed(devices):
            restore_settings(context.machine.nics, device)
            binding.give_back(context.machine.nics, device)

    def forget(self, context: Context, devices: Sequence[ClaimedRdmaVf]) -> None:
        """Undo nothing: no VF outlives a boot, and neither do its settings."""

    def foreign(self, _node: NodeSnapshot, _held: Sequence[ClaimedRdmaVf]) -> Iterable[Foreign]:
        """Yield nothing: an RDMA device is made by its driver."""
        return ()
