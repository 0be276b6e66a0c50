"""The four kinds of configuration as values. A field that is None was not given.

Source: docs/configuration.md; the fields for sharing are NVIDIA's (``resource.nvidia.com/v1beta1``), those
for VFs are ``ip link``'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass

API_VERSION: Final = "tangram.dev/v1alpha1"


class Interval(StrEnum):
    """How long a program runs on a GPU before the next one may."""

    DEFAULT = "Default"
    SHORT = "Short"
    MEDIUM = "Medium"
    LONG = "Long"


@dataclass(frozen=True, slots=True)
class TimeSlicing:
    """Programs take turns on the GPU."""

    interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mps:
    """Programs run on the GPU at once, under CUDA's Multi-Process Service.

    Shape: ``active_thread_percentage`` is None without a limit; ``pinned_memory_limits`` by device, an index
           in the claim or a UUID, goes before ``pinned_memory_limit``.
    Units: percent of the multiprocessors, per program; bytes, whole MiB, per program.
    """

    active_thread_percentage: int | None = None
    pinned_memory_limit: Quantity | None = None
    pinned_memory_limits: Mapping[str, Quantity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GpuConfig:
    """For whole GPUs, one by one or joined by NVLink."""

    sharing: TimeSlicing | Mps | None = None


@dataclass(frozen=True, slots=True)
class MigConfig:
    """For MIG partitions."""

    sharing: Mps | None = None


class VfMode(StrEnum):
    """In which form a VF is given to containers."""

    RDMA = "rdma"
    VFIO = "vfio"
    NETDEV = "netdev"


class LinkState(StrEnum):
    """The link that a VF sees: that of its PF, or always up, or always down."""

    AUTO = "auto"
    ENABLE = "enable"
    DISABLE = "disable"


class VlanProtocol(StrEnum):
    """The tag: of customers, or of providers (QinQ)."""

    CUSTOMER = "802.1Q"
    PROVIDER = "802.1ad"


@dataclass(frozen=True, slots=True)
class Vlan:
    """The tag that the PF puts on a VF's packets. Shape: ``id`` 0 is no VLAN; ``qos`` is 0 to 7."""

    id: int
    qos: int | None = None
    protocol: VlanProtocol | None = None


@dataclass(frozen=True, slots=True)
class NetworkRoute:
    """A route through the interface. Shape: ``gateway`` is None for a network on the link itself."""

    destination: str
    gateway: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Netdev:
    """A network interface in the pod. Shape: addresses with their prefix; None keeps what the kernel has."""

    name: str | None = None
    mtu: int | None = None
    addresses: tuple[str, ...] = ()
    routes: tuple[NetworkRoute, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VfConfig:
    """For VFs. What the PF keeps of a VF stays as it is where it is None.

    Shape: ``netdev`` in mode netdev only, ``management_devices`` (umad and issm) in mode rdma only.
    Units: rates in Mbit/s; 0 is no limit.
    """

    mode: VfMode | None = None
    mac: str | None = None
    guid: str | None = None
    vlan: Vlan | None = None
    min_tx_rate_mbps: int | None = None
    max_tx_rate_mbps: int | None = None
    spoof_check: bool | None = None
    trust: bool | None = None
    link_state: LinkState | None = None
    netdev: Netdev | None = None
    management_devices: bool | None = None


@dataclass(frozen=True, slots=True)
class NicConfig:
    """For whole NICs, whose interface moves into the pod."""

    netdev: Netdev = field(default_factory=Netdev)


Config = GpuConfig | MigConfig | VfConfig | NicConfig

CONFIG_OF: Final[Mapping[str, type[Config]]] = {
    "gpu": GpuConfig,
    "gpu-partition": GpuConfig,
    "gpu-shared": GpuConfig,
    "gpu-mps": GpuConfig,
    "mig": MigConfig,
    "compute-instance": MigConfig,
    "vf": VfConfig,
    "nic": NicConfig,
}
"""The kind of configuration for devices of each ``type``."""


def types_of(kind: type[Config]) -> tuple[str, ...]:
    """Return the types of device that a kind of configuration is for."""
    return tuple(device_type for device_type, one in CONFIG_OF.items() if one is kind)
