"""A VF as a network interface in a pod: noted at prepare, brought in when the pod's first container starts.

With RDMA, containers also get the device nodes of its RDMA device: RoCE needs both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import msgspec

from agent.inventory.published import NicVf, PublishedDevice
from plugin.base.errors import ClaimUnusable
from plugin.kinds.interface import moving
from plugin.kinds.interface.moving import InterfaceOf
from plugin.kinds.interface.recorded import ClaimedInterface, RecordedInterface
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.kinds.nic_vf import binding, guids, settings
from plugin.kinds.nic_vf.claimed import ClaimedVf, place_of
from plugin.kinds.nic_vf.presence import refuse_changed, refuse_unusable, restore_settings, with_settings
from plugin.machine import rdma
from plugin.machine.context import Context
from plugin.machine.default_route import refuse_needed, refuse_without_interface
from plugin.machine.namespaces import PodNamespace
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware
from scheduler_core.frontends.configuration.values import VfConfig, VfMode


class ClaimedNetdevVf(ClaimedVf, frozen=True, kw_only=True, tag="vf-netdev"):
    """A VF whose interface a pod has.

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
        """Return the device without what is known of its interface, RDMA devices and earlier settings."""
        interface = self.interface.as_planned()
        return msgspec.structs.replace(super().as_planned(), interface=interface, rdma_devices=())


class NetdevVfKind(PreparableKind[NicVf, ClaimedNetdevVf]):
    """The interface is noted before the PF's settings are made: they may change its hardware address.

    After a GUID, which makes another interface.
    """

    text = "a NIC's virtual function, as a network interface"
    published = NicVf
    claimed = ClaimedNetdevVf
    crash_points = CrashPoints(
        setting_up=("write",),
        taking_down=("restore",),
        noted=("the interface before", "the settings before"),
    )

    def takes(self, wanted: Wanted[PublishedDevice]) -> bool:
        """Whether the device is a VF and mode netdev was asked for."""
        config = wanted.config
        return super().takes(wanted) and isinstance(config, VfConfig) and config.mode is VfMode.NETDEV

    def why_ill(self, published: NicVf, seen: SeenHardware) -> str:
        """Return why the function does not answer."""
        return seen.why_function_is_missing(published.watched)

    def plan(self, wanted: Wanted[NicVf]) -> ClaimedNetdevVf:
        """Return the VF by its addresses."""
        config = wanted.config if isinstance(wanted.config, VfConfig) else VfConfig()
        return ClaimedNetdevVf(
            **wanted.common,
            **place_of(wanted.published),
            settings=settings.wanted(config),
            interface=ClaimedInterface(wanted=RecordedInterface.wanted(config.netdev, config.mac)),
            has_rdma=wanted.published.gives_rdma,
        )

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedNetdevVf]) -> None:
        """Check the VFs, and that pods can have their interfaces. Raises: PluginError; HardwareError."""
        reader = context.machine.nics.reader
        for device in devices:
            refuse_unusable(context.machine.nics, device)
            refuse_without_interface(reader, device.bdf, "give a pod the interface of", _subject(device))
            _refuse_large_mtu(context, device)

    def set_up(self, context: Context, devices: Sequence[ClaimedNetdevVf], progress: Progress) -> None:
        """Note interfaces, make the PFs' settings, await RDMA devices. Raises: NotReady; HardwareError."""
        ends_at = context.waiting.clock() + context.waiting.most_s
        self.refuse_occupied(context, devices)  # VFs on demand exist only now
        devices = [_with_guid(context, device, progress) for device in devices]
        ready = [
            with_settings(context.machine.nics, one, progress) for one in _noted(context, devices, progress)
        ]
        rest = replace(context, waiting=context.waiting.ending(ends_at))
        found = rdma.awaited(rest, [device.bdf for device in ready if device.has_rdma])
        for device in ready:
            names = tuple(one.name for one in found.get(device.bdf, ()))
            progress.know(msgspec.structs.replace(device, rdma_devices=names))

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedNetdevVf]) -> None:
        """Check that interfaces and RDMA devices are there. Raises: NotReady; HardwareError."""
        for device in devices:
            moving.refuse_lost(context, _interface(device))
            if device.has_rdma:
                reader = context.machine.nics.reader
                rdma.refuse_other(reader, device.bdf, device.device, device.rdma_devices)

    def parts(self, context: Context, device: ClaimedNetdevVf) -> Parts:
        """Return the nodes of the RDMA devices; the interface comes with the pod. Raises: NotReady."""
        if not device.has_rdma:
            return Parts(joins_pod=True)
        found = rdma.complete(context.machine.nics.reader, device.bdf)
        return Parts(rdma.nodes(found, context.host_root, with_management=False), joins_pod=True)

    def bring_in(
        self, context: Context, device: ClaimedNetdevVf, pod: PodNamespace, progress: Progress
    ) -> None:
        """Bring the interface into a pod. Raises: InterfaceElsewhere, NotReady; HardwareError."""
        refuse_changed(context.machine.nics.reader, device)
        refuse_needed(context.machine.nics.reader, device.bdf, "give away", _subject(device))

        def note(interface: ClaimedInterface) -> None:
            progress.note(msgspec.structs.replace(device, interface=interface))

        moving.bring_in(context, _interface(device), pod, note)

    def take_down(self, context: Context, devices: Sequence[ClaimedNetdevVf]) -> None:
        """Bring the interfaces back, then restore the PFs' settings and the hardware addresses.

        Raises: NotReady; HardwareError.
        """
        for device in reversed(devices):
            moving.bring_back(context, _interface(device))
            restore_settings(context.machine.nics, device)
            if device.before is None:
                moving.restore_mac(context, _interface(device))
            else:  # its driver makes another interface
                binding.give_back(context.machine.nics, device)

    def forget(self, context: Context, devices: Sequence[ClaimedNetdevVf]) -> None:
        """Undo nothing: no VF outlives a boot, and neither do its interface and settings."""

    def foreign(self, _node: NodeSnapshot, _held: Sequence[ClaimedNetdevVf]) -> Iterable[Foreign]:
        """Yield nothing: an interface is made by its driver."""
        return ()


def _with_guid(context: Context, device: ClaimedNetdevVf, progress: Progress) -> ClaimedNetdevVf:
    """Return an InfiniBand VF that needed a GUID with it; its driver has then made the interface to note."""
    device = guids.decided(context.machine.nics, device)
    if device.before is not None:
        device = with_settings(context.machine.nics, device, progress)
        guids.take_effect(context, device)
    return device


def _noted(
    context: Context, devices: Sequence[ClaimedNetdevVf], progress: Progress
) -> Iterable[ClaimedNetdevVf]:
    """Return the devices with their interfaces as they were, each durable before the next is read."""
    unknown = [_interface(device) for device in devices if device.interface.before is None]
    links = moving.awaited(context, unknown)
    for device in devices:
        link = links.get(device.bdf)
        if link is None:
            yield device
            continue
        moving.refuse_impossible(_interface(device), link)
        interface = msgspec.structs.replace(device.interface, before=RecordedInterface.of_link(link))
        noted = msgspec.structs.replace(device, interface=interface)
        progress.note(noted)
        yield noted


def _refuse_large_mtu(context: Context, device: ClaimedNetdevVf) -> None:
    wanted = device.interface.wanted.mtu
    of_pf = [interface.mtu for interface in context.machine.nics.reader.interfaces(device.pf)]
    if wanted is not None and of_pf and wanted > of_pf[0]:
        rule = f"VfConfig.netdev.mtu: {wanted}: must be at most {of_pf[0]}, the MTU of its NIC {device.pf}"
        raise ClaimUnusable("prepare", _subject(device), rule, "the user corrects the claim")


def _interface(device: ClaimedNetdevVf) -> InterfaceOf:
    return InterfaceOf(device.bdf, _subject(device), device.interface)


def _subject(device: ClaimedNetdevVf) -> str:
    return f"device {device.device} (VF {device.bdf})"
