"""How several programs share one GPU or MIG partition: the field ``sharing``.

Its form is that of NVIDIA's driver, so a configuration for that driver keeps its fields.
"""

from __future__ import annotations

import re
from typing import Final

from scheduler_core.base.quantity import NANO, Quantity
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.configuration.fields import optional_choice, optional_integer
from scheduler_core.frontends.configuration.values import Interval, Mps, TimeSlicing

TIME_SLICING: Final = "TimeSlicing"
MPS: Final = "MPS"
_CONFIGS: Final = {TIME_SLICING: "timeSlicingConfig", MPS: "mpsConfig"}
_MIB: Final = 2**20
_MOST_BYTES: Final = 2**63 - 1
_MOST_DEVICES: Final = 32  # of an allocated claim
_INDEX: Final = re.compile(r"[0-9]|[12][0-9]|3[01]", re.ASCII)
_UUID: Final = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_INDEX_RULE: Final = "must be the index of a device in the claim, 0 to 31"


def read_sharing(fields: Fields) -> TimeSlicing | Mps | None:
    """Return what ``sharing`` of a GPU's configuration says, None where it is absent."""
    if not fields.has("sharing"):
        return None
    sharing = fields.child("sharing")
    if _strategy(sharing, (TIME_SLICING, MPS)) == MPS:
        return _mps(sharing, allows_uuids=True)
    if not sharing.has(_CONFIGS[TIME_SLICING]):
        return TimeSlicing()
    slicing = sharing.child(_CONFIGS[TIME_SLICING])
    slicing.only("interval")
    return TimeSlicing(optional_choice(slicing, "interval", Interval))


def read_mig_sharing(fields: Fields) -> Mps | None:
    """Return what ``sharing`` of a partition's configuration says, None where it is absent.

    The interval of time slicing is set for whole GPUs only, so a partition has none. A partition has no UUID
    before it is made, so its limits are by index.
    """
    if not fields.has("sharing"):
        return None
    sharing = fields.child("sharing")
    _strategy(sharing, (MPS,))
    return _mps(sharing, allows_uuids=False)


def _strategy(sharing: Fields, allowed: tuple[str, ...]) -> str:
    """Return the strategy. The configuration of another strategy is refused."""
    configs = [_CONFIGS[one] for one in allowed]
    sharing.only("strategy", *configs)
    strategy = sharing.text("strategy")
    if strategy not in allowed:
        raise sharing.refuse("strategy", f"must be {' or '.join(allowed)}", strategy)
    for other in configs:
        if other != _CONFIGS[strategy] and sharing.has(other):
            raise sharing.refuse(other, f"does not go with strategy {strategy}")
    return strategy


def _mps(sharing: Fields, *, allows_uuids: bool) -> Mps:
    if not sharing.has(_CONFIGS[MPS]):
        return Mps()
    fields = sharing.child(_CONFIGS[MPS])
    percentage, memory, by_device = (
        "defaultActiveThreadPercentage",
        "defaultPinnedDeviceMemoryLimit",
        "defaultPerDevicePinnedMemoryLimit",
    )
    fields.only(percentage, memory, by_device)
    return Mps(
        active_thread_percentage=optional_integer(fields, percentage, least=1, most=100),
        pinned_memory_limit=_memory(fields, memory) if fields.has(memory) else None,
        pinned_memory_limits=_limits(fields, by_device, allows_uuids) if fields.has(by_device) else {},
    )


def _limits(mps: Fields, key: str, allows_uuids: bool) -> dict[str, Quantity]:
    fields = mps.child(key)
    if len(fields.values) > _MOST_DEVICES:
        raise fields.refuse("", f"has {len(fields.values)} entries; at most {_MOST_DEVICES} are allowed")
    for device in fields.values:
        is_known = _INDEX.fullmatch(device) or (allows_uuids and _UUID.fullmatch(device))
        if not is_known:
            rule = f"{_INDEX_RULE}, or its UUID, GPU-…" if allows_uuids else _INDEX_RULE
            raise fields.refuse(device, rule, device)
    return {device: _memory(fields, device) for device in fields.values}


def _memory(fields: Fields, key: str) -> Quantity:
    """Return an amount of memory. The MPS daemon counts in MiB, so other amounts would be rounded."""
    amount = fields.quantity(key)
    if amount.nano % (_MIB * NANO) or not _MIB <= amount.whole <= _MOST_BYTES:
        raise fields.refuse(key, "must be a whole number of MiB, at least 1Mi and below 8Ei", amount)
    return amount
