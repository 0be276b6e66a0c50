"""What the plugin of this version can prepare. Whoever adds a feature to the plugin removes its line here.

Front ends refuse what the plugin would refuse, with the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scheduler_core.frontends.configuration.values import (
    Config,
    GpuConfig,
    MigConfig,
    Mps,
    TimeSlicing,
    VfConfig,
    VfMode,
    VlanProtocol,
)

UNPREPARED_TYPES: Final[Mapping[str, str]] = {
    "nic": "it is a NIC (physical function), a kind that this version cannot prepare",
}
"""Why no device of a type can be prepared."""

NO_RDMA: Final = "it has no RDMA device; ask for mode vfio in a VfConfig"

NO_SHARING: Final = "this version prepares no admin access and no shares of a device"


@dataclass(frozen=True, slots=True)
class Unprepared:
    """What cannot be prepared.

    Shape: ``field`` of the configuration begins with its kind; it is empty where no configuration would help.
    """

    field: str
    reason: str


def preparable(config: Config | None, device_type: str) -> Unprepared | None:
    """Return what the plugin cannot do for a device of a type under a configuration, None for nothing.

    Shape: ``config`` is None where none was given for the device.
    """
    if device_type in UNPREPARED_TYPES:
        return Unprepared("", UNPREPARED_TYPES[device_type])
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


def _missing_for_vf(config: VfConfig) -> Unprepared | None:
    if config.mode is VfMode.NETDEV:
        return Unprepared("VfConfig.mode", f"this version cannot prepare mode {config.mode}")
    if config.vlan is not None and config.vlan.protocol is VlanProtocol.PROVIDER:
        return Unprepared("VfConfig.vlan.protocol", f"this version cannot prepare {VlanProtocol.PROVIDER}")
    return None


def _missing(kind: str, feature: str) -> Unprepared:
    return Unprepared(f"{kind}.sharing", f"this version cannot prepare {feature}; leave the field out")
