"""What the plugin of this version can prepare. Whoever adds a feature to the plugin removes its line here.

Front ends refuse what the plugin would refuse, with the same words.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
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

ONE_DAEMON: Final = (
    "a program can use one MPS daemon only; "
    "ask for one device under MPS in each request, and use one such request in each container"
)

UNDER_MPS: Final = "gpu-mps"
"""The type of published devices that are under MPS without a configuration."""
IN_SHARES: Final = frozenset({"gpu-shared", UNDER_MPS})
"""The types of published devices of which claims have shares."""
NO_ADMIN: Final = "this version gives no admin access to devices of its kind"
WITHOUT_ADMIN_ACCESS: Final = frozenset({"nic", "vf", "imex-channel"})
"""The types of published devices that nobody can look at."""
NO_ADMIN_SHARE: Final = "admin access is to a GPU, not to the shares that claims have of it"
NO_ADMIN_SHARING: Final = (
    "admin access changes nothing of a device; leave the field out, or ask without adminAccess"
)
NO_SHARE: Final = "its allocation has a share of it, and this version prepares it for one claim alone"


NO_MPS_FOR_PARTITIONS: Final = (
    "this version cannot prepare MPS for GPUs that NVLink joins; leave the field out"
)
_WITHOUT_MPS: Final = {
    "gpu-shared": "its claims take turns without MPS; ask for a device of type gpu-mps",
    "gpu-partition": NO_MPS_FOR_PARTITIONS,
    "compute-instance": "this version cannot prepare MPS for compute instances; leave the field out",
}
"""Why MPS cannot be asked for on devices of a type."""
_WITHOUT_TIME_SLICING: Final = {
    "gpu-mps": "its programs run at once; ask for a device of type gpu-shared",
    "gpu-partition": "this version sets no interval for GPUs that NVLink joins; leave the field out",
}
"""Why time slicing cannot be asked for on devices of a type."""


@dataclass(frozen=True, slots=True)
class Unprepared:
    """What cannot be prepared.

    Shape: ``field`` of the configuration begins with its kind.
    """

    field: str
    reason: str


def preparable(config: Config | None, device_type: str) -> Unprepared | None:
    """Return what the plugin cannot do under a configuration, None for nothing.

    Shape: ``config`` is None where none was given for the device; ``device_type`` is empty where it is not
           known.
    """
    kind = type(config).__name__
    match config:
        case GpuConfig(sharing=TimeSlicing()) if device_type in _WITHOUT_TIME_SLICING:
            return Unprepared(f"{kind}.sharing", _WITHOUT_TIME_SLICING[device_type])
        case GpuConfig(sharing=Mps()) | MigConfig(sharing=Mps()) if device_type in _WITHOUT_MPS:
            return Unprepared(f"{kind}.sharing", _WITHOUT_MPS[device_type])
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
