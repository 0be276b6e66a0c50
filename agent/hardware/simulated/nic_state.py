"""What changes on NIC functions: drivers, settings by the PF, network links."""

from __future__ import annotations

from typing import Final

from agent.hardware.simulated.parts import Part

KERNEL_DRIVER: Final = "mlx5_core"
"""The driver of the functions of most simulated NICs."""

NEVER: Final = -1
"""For ``reads_left``: the driver never makes an RDMA device."""


IN_KERNEL: Final = "a namespace of the real kernel"
"""Where the link of a NIC with real links is while a pod has it; the kernel knows which one."""


class RouteState(Part, frozen=True):
    """A route. Shape: ``via`` None for a network that is reached directly."""

    to: str
    via: str | None = None


class LinkState(Part, frozen=True):
    """A network link.

    Shape: ``namespace`` identifies a namespace, as its file's device and inode, None for the host's;
           ``path`` is that file.
    """

    name: str
    mac: str
    mtu: int = 1500
    up: bool = True
    namespace: str | None = None
    path: str | None = None
    addresses: tuple[str, ...] = ()
    routes: tuple[RouteState, ...] = ()


class SettingState(Part, frozen=True, omit_defaults=True):
    """What the PF sets for a VF. Units: rates are millions of bits per second, 0 for no limit.

    Shape: a GUID is None while it is as the driver left it; what is not set is not written, so that a version
           before a new field reads the file.
    """

    mac: str = "00:00:00:00:00:00"
    vlan: int = 0
    qos: int = 0
    min_rate: int = 0
    max_rate: int = 0
    spoof_check: bool = True
    trust: bool = False
    link_state: str = "auto"
    node_guid: str | None = None
    port_guid: str | None = None


class FunctionState(Part, frozen=True, omit_defaults=True):
    """A function that differs from a fresh one.

    Shape: ``reads_left`` counts how often its RDMA device will still be missing; ``link`` None for the
           link that its driver makes; the GUIDs, of an InfiniBand VF, are the settings that its driver found
           when it started.
    """

    driver: str | None = KERNEL_DRIVER
    override: str | None = None
    reads_left: int = 0
    setting: SettingState = SettingState()
    node_guid: str | None = None
    port_guid: str | None = None
    link: LinkState | None = None
