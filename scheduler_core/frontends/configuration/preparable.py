"""What the plugin of this version can prepare. Whoever adds a feature to the plugin removes its line here.

Front ends refuse what the plugin would refuse, with the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scheduler_core.frontends.configuration.values import Config, GpuConfig, MigConfig, Mps, TimeSlicing
from scheduler_core.model.claim import AllocatedDevice

UNPREPARED_TYPES: Final[Mapping[str, str]] = {
    "nic": "a NIC (physical function)",
    "vf": "a NIC's virtual function",
}
"""The types of published devices that cannot be prepared, in words."""

IN_SHARES: Final = frozenset({"gpu-shared"})
"""The types of published devices of which claims have shares."""
NO_ADMIN_SHARE: Final = "admin access is to a GPU, not to the shares that claims have of it"
NO_SHARE: Final = "its allocation has a share of it, and this version prepares it for one claim alone"


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
        words = UNPREPARED_TYPES[device_type]
        return Unprepared("", f"it is {words}, a kind that this version cannot prepare")
    kind = type(config).__name__
    match config:
        case GpuConfig(sharing=TimeSlicing()):
            return _missing(kind, "time slicing")
        case GpuConfig(sharing=Mps()) | MigConfig(sharing=Mps()):
            return _missing(kind, "MPS")
        case _:
            return None


def has_share(result: AllocatedDevice) -> bool:
    """Whether a result is a share of its device."""
    return result.share_id is not None or bool(result.consumed)


def _missing(kind: str, feature: str) -> Unprepared:
    return Unprepared(f"{kind}.sharing", f"this version cannot prepare {feature}; leave the field out")
