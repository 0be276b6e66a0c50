"""What the plugin of this version can prepare. Whoever adds a feature to the plugin removes its line here.

Front ends refuse what the plugin would refuse, with the same words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scheduler_core.frontends.configuration.values import (
    Config,
    GpuConfig,
    MigConfig,
    Mps,
    TimeSlicing,
    VfConfig,
    VlanProtocol,
)
from scheduler_core.model.claim import AllocatedDevice

NO_RDMA: Final = "it has no RDMA device; ask for mode netdev or vfio in a VfConfig"
NO_VFIO: Final = "its node cannot give it for VFIO; select vfioCapable, or leave the mode out"
NO_NETDEV: Final = "a pod cannot have its interface; select netdevCapable, or ask for another mode"
NIC_WITHOUT_INTERFACE: Final = "a pod cannot have its interface; select netdevCapable, or leave NicConfig out"
NIC_WITHOUT_RDMA: Final = "it has no RDMA device; ask for its network interface in a NicConfig"

IN_SHARES: Final = frozenset({"gpu-shared"})
"""The types of published devices of which claims have shares."""
NO_ADMIN: Final = "this version gives no admin access to devices of its kind"
WITHOUT_ADMIN_ACCESS: Final = frozenset({"nic", "vf", "imex-channel"})
"""The types of published devices that nobody can look at."""
NO_ADMIN_SHARE: Final = "admin access is to a GPU, not to the shares that claims have of it"
NO_SHARE: Final = "its allocation has a share of it, and this version prepares it for one claim alone"


@dataclass(frozen=True, slots=True)
class Unprepared:
    """What cannot be prepared.

    Shape: ``field`` of the configuration begins with its kind.
    """

    field: str
    reason: str


def preparable(config: Config | None) -> Unprepared | None:
    """Return what the plugin cannot do under a configuration, None for nothing.

    Shape: ``config`` is None where none was given for the device.
    """
    kind = type(config).__name__
    match config:
        case GpuConfig(sharing=TimeSlicing()):
            return _missing(kind, "time slicing")
        case GpuConfig(sharing=Mps()) | MigConfig(sharing=Mps()):
            return _missing(kind, "MPS")
        case VfConfig():
            return _missing_for_vf(config)
        case _:
            return None


def has_share(result: AllocatedDevice) -> bool:
    """Whether a result is a share of its device."""
    return result.share_id is not None or bool(result.consumed)


def _missing_for_vf(config: VfConfig) -> Unprepared | None:
    if config.vlan is not None and config.vlan.protocol is VlanProtocol.PROVIDER:
        return Unprepared("VfConfig.vlan.protocol", f"this version cannot prepare {VlanProtocol.PROVIDER}")
    return None


def _missing(kind: str, feature: str) -> Unprepared:
    return Unprepared(f"{kind}.sharing", f"this version cannot prepare {feature}; leave the field out")
