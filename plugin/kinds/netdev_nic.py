"""A whole NIC as a network interface in a pod: its physical function keeps its kernel driver.

With RDMA, containers also get the device nodes of its RDMA device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import msgspec

from agent.inventory.published import PublishedDevice, WholeNic
from plugin.kinds.claimed_nic import ClaimedNic
from plugin.kinds.interface import moving
from plugin.kinds.interface.moving import InterfaceOf
from plugin.kinds.interface.recorded import ClaimedInterface, RecordedInterface
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.machine import rdma
from plugin.machine.context import Context
from plugin.machine.default_route import refuse_needed, refuse_without_interface
from plugin.machine.namespaces import PodNamespace
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware
from scheduler_core.frontends.configuration.values import NicConfig


class ClaimedNetdevNic(ClaimedNic, frozen=True, kw_only=True, tag="nic-netdev"):
    """A NIC whose interface a pod has.

    Shape: ``has_rdma`` whether containers get its RDMA devices, too; ``rdma_devices`` their names, none until
           they are known.
    """

    interface: ClaimedInterface
    has_rdma: bool = False
    rdma_devices: tuple[str, ...] = ()

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""
        names = {"rdmaDevices": list(self.rdma_devices)} if self.has_rdma else {}
        return {**super().status_data, **names}

    @property
    def network_data(self) -> Mapping[str, Any] | None:
        """Return what is told of the interface."""
        return self.interface.network_data

    @property
    def is_in_pod(self) -> bool:
        """Whether the interface was brought into a pod."""
        return self.interface.pod is not None

    def as_planned(self) -> Self:
        """Return the device as it was planned: nothing is known yet of its interface and RDMA devices."""
        return msgspec.structs.replace(self, interface=self.interface.as_planned(), rdma_devices=())


class NetdevNicKind(PreparableKind[WholeNic, ClaimedNetdevNic]):
    """A NIC that the node itself does not need, with a NicConfig."""

    text = "a NIC (physical function), as a network interface"
    published = WholeNic
    claimed = ClaimedNetdevNic
    crash_points = CrashPoints(setting_up=(), taking_down=(), noted=("the interface before",))

    def takes(self, wanted: Wanted[PublishedDevice]) -> bool:
        """Whether the device is a NIC and its interface was asked for."""
        return super().takes(wanted) and isinstance(wanted.config, NicConfig)

    def why_ill(self, published: WholeNic, seen: SeenHardware) -> str:
        """Return why the function does not answer."""
        return seen.why_function_is_missing(published.pf.function.bdf)

    def plan(self, wanted: Wanted[WholeNic]) -> ClaimedNetdevNic:
        """Return the NIC by its address."""
        netdev = wanted.config.netdev if isinstance(wanted.config, NicConfig) else None
        nic = wanted.published
        return ClaimedNetdevNic(
            **wanted.common,
            pf_bdf=nic.pf.function.bdf,
            interface=ClaimedInterface(wanted=RecordedInterface.wanted(netdev)),
            has_rdma=nic.gives_rdma,
        )

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedNetdevNic]) -> None:
        """Check that pods can have the NICs' interfaces. Raises: NotReady; HardwareError."""
        for device in devices:
            refuse_without_interface(
                context.machine.nics.reader, device.pf, "give a pod the interface of", device.subject
            )

    def set_up(self, context: Context, devices: Sequence[ClaimedNetdevNic], progress: Progress) -> None:
        """Note the interfaces and await RDMA devices. Raises: NotReady; HardwareError."""
        ends_at = context.waiting.clock() + context.waiting.most_s
        unknown = [_interface(device) for device in devices if device.interface.before is None]
        links = moving.awaited(context, unknown)
        rest = replace(context, waiting=context.waiting.ending(ends_at))
        found = rdma.awaited(rest, [device.pf for device in devices if device.has_rdma])
        for device in devices:
            names = tuple(one.name for one in found.get(device.pf, ()))
            known = msgspec.structs.replace(device, rdma_devices=names)
            link = links.get(device.pf)
            if link is None:
                progress.know(known)
                continue
            moving.refuse_impossible(_interface(device), link)
            interface = msgspec.structs.replace(device.interface, before=RecordedInterface.of_link(link))
            progress.note(msgspec.structs.replace(known, interface=interface))

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedNetdevNic]) -> None:
        """Check that interfaces and RDMA devices are there. Raises: NotReady; HardwareError."""
        for device in devices:
            moving.refuse_lost(context, _interface(device))
            if device.has_rdma:
                reader = context.machine.nics.reader
                rdma.refuse_other(reader, device.pf, device.device, device.rdma_devices)

    def parts(self, context: Context, device: ClaimedNetdevNic) -> Parts:
        """Return the nodes of the RDMA devices; the interface comes with the pod. Raises: NotReady."""
        if not device.has_rdma:
            return Parts(joins_pod=True)
        found = rdma.complete(context.machine.nics.reader, device.pf)
        return Parts(rdma.nodes(found, context.host_root, with_management=False), joins_pod=True)

    def bring_in(
        self, context: Context, device: ClaimedNetdevNic, pod: PodNamespace, progress: Progress
    ) -> None:
        """Bring the interface into a pod. Raises: InterfaceElsewhere, NotReady; HardwareError."""
        _refuse_needed(context, device)

        def note(interface: ClaimedInterface) -> None:
            progress.note(msgspec.structs.replace(device, interface=interface))

        moving.bring_in(context, _interface(device), pod, note)

    def take_down(self, context: Context, devices: Sequence[ClaimedNetdevNic]) -> None:
        """Bring the interfaces back as they were, the last one first. Raises: NotReady; HardwareError."""
        for device in reversed(devices):
            moving.bring_back(context, _interface(device))
            moving.restore_mac(context, _interface(device))

    def forget(self, context: Context, devices: Sequence[ClaimedNetdevNic]) -> None:
        """Undo nothing: interfaces are made anew at each boot."""

    def foreign(self, _node: NodeSnapshot, _held: Sequence[ClaimedNetdevNic]) -> Iterable[Foreign]:
        """Yield nothing: an interface is made by its driver."""
        return ()


def _refuse_needed(context: Context, device: ClaimedNetdevNic) -> None:
    refuse_needed(context.machine.nics.reader, device.pf, "give away", device.subject)


def _interface(device: ClaimedNetdevNic) -> InterfaceOf:
    return InterfaceOf(device.pf, device.subject, device.interface)
