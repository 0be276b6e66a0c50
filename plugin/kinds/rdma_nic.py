"""A whole NIC for RDMA: its physical function keeps its kernel driver and its interface.

Containers get the device nodes of its RDMA device. Nothing of it is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import msgspec

from agent.inventory.published import PublishedDevice, WholeNic
from plugin.kinds.claimed_nic import ClaimedNic
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.machine import rdma
from plugin.machine.context import Context
from plugin.machine.default_route import refuse_needed
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware
from scheduler_core.frontends.configuration.values import NicConfig


class ClaimedRdmaNic(ClaimedNic, frozen=True, kw_only=True, tag="nic-rdma"):
    """A NIC that a claim has for RDMA. Shape: ``rdma_devices`` the names, none until they are known."""

    rdma_devices: tuple[str, ...] = ()

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        return {**super().status_data, "rdmaDevices": list(self.rdma_devices)}

    def as_planned(self) -> Self:
        """Return the device without what is known of its RDMA devices."""
        return msgspec.structs.replace(self, rdma_devices=())


class RdmaNicKind(PreparableKind[WholeNic, ClaimedRdmaNic]):
    """A NIC that the node itself does not need."""

    text = "a NIC (physical function), for RDMA"
    published = WholeNic
    claimed = ClaimedRdmaNic
    crash_points = CrashPoints(setting_up=(), taking_down=())

    def takes(self, wanted: Wanted[PublishedDevice]) -> bool:
        """Whether the device is a NIC with RDMA, and its interface was not asked for."""
        found = wanted.published
        gives_rdma = isinstance(found, WholeNic) and found.gives_rdma
        return gives_rdma and not isinstance(wanted.config, NicConfig)

    def why_ill(self, published: WholeNic, seen: SeenHardware) -> str:
        """Return why the function does not answer."""
        return seen.why_function_is_missing(published.pf.function.bdf)

    def plan(self, wanted: Wanted[WholeNic]) -> ClaimedRdmaNic:
        """Return the NIC by its address."""
        return ClaimedRdmaNic(**wanted.common, pf_bdf=wanted.published.pf.function.bdf)

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedRdmaNic]) -> None:
        """Check that the node's own network does not need the NICs. Raises: NotReady; HardwareError."""
        for device in devices:
            refuse_needed(context.machine.nics.reader, device.pf, "give away", device.subject)

    def set_up(self, context: Context, devices: Sequence[ClaimedRdmaNic], progress: Progress) -> None:
        """Wait for the RDMA devices. Raises: NotReady; HardwareError."""
        found = rdma.awaited(context, [device.pf for device in devices])
        for device in devices:
            names = tuple(one.name for one in found[device.pf])
            progress.know(msgspec.structs.replace(device, rdma_devices=names))

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedRdmaNic]) -> None:
        """Check that the RDMA devices are those that were found. Raises: NotReady; HardwareError."""
        for device in devices:
            rdma.refuse_other(context.machine.nics.reader, device.pf, device.device, device.rdma_devices)

    def parts(self, context: Context, device: ClaimedRdmaNic) -> Parts:
        """Return the nodes of the RDMA devices. Raises: NotReady; HardwareError."""
        found = rdma.complete(context.machine.nics.reader, device.pf)
        return Parts(rdma.nodes(found, context.host_root, with_management=False))

    def take_down(self, context: Context, devices: Sequence[ClaimedRdmaNic]) -> None:
        """Undo nothing: nothing was changed."""

    def forget(self, context: Context, devices: Sequence[ClaimedRdmaNic]) -> None:
        """Undo nothing."""

    def foreign(self, _node: NodeSnapshot, _held: Sequence[ClaimedRdmaNic]) -> Iterable[Foreign]:
        """Yield nothing: an RDMA device is made by its driver."""
        return ()
