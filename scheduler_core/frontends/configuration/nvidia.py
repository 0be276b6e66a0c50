"""Reads configurations of NVIDIA's driver, ``resource.nvidia.com/v1beta1``, where they mean the same here.

What has no counterpart is refused by name, because a claim would otherwise get less than it asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.configuration.sharing import MPS, TIME_SLICING, read_mig_sharing, read_sharing
from scheduler_core.frontends.configuration.values import GpuConfig, MigConfig

API_VERSION: Final = "resource.nvidia.com/v1beta1"
OTHER_KINDS: Final = ("VfioDeviceConfig", "ComputeDomainChannelConfig", "ComputeDomainDaemonConfig")
"""Kinds of that version for which there is nothing here."""
_MULTI_USER: Final = "multiUser"


def read_gpu_config(fields: Fields) -> GpuConfig:
    """Read NVIDIA's GpuConfig, whose sharing has the same fields."""
    fields.only("apiVersion", "kind", "sharing")
    return GpuConfig(read_sharing(_without_multi_user(fields)))


def read_mig_device_config(fields: Fields) -> MigConfig:
    """Read NVIDIA's MigDeviceConfig. It admits time slicing, without any effect: so it has none here."""
    fields.only("apiVersion", "kind", "sharing")
    if fields.has("sharing"):
        sharing = fields.child("sharing")
        strategy = sharing.text("strategy")
        if strategy not in (TIME_SLICING, MPS):
            raise sharing.refuse("strategy", f"must be {TIME_SLICING} or {MPS}", strategy)
        if strategy == TIME_SLICING:
            sharing.only("strategy")
            return MigConfig()
    return MigConfig(read_mig_sharing(_without_multi_user(fields)))


def _without_multi_user(fields: Fields) -> Fields:
    """Return the fields without ``multiUser: false``, which is what happens here; true is refused."""
    sharing = fields.values.get("sharing")
    mps = sharing.get("mpsConfig") if isinstance(sharing, Mapping) else None
    if not isinstance(sharing, Mapping) or not isinstance(mps, Mapping) or _MULTI_USER not in mps:
        return fields
    inner = fields.child("sharing").child("mpsConfig")
    if inner.flag(_MULTI_USER, False):
        raise inner.refuse(_MULTI_USER, "must be false: one MPS daemon here serves one user", True)
    kept = {key: value for key, value in mps.items() if key != _MULTI_USER}
    values = {**fields.values, "sharing": {**sharing, "mpsConfig": kept}}
    return Fields(values, fields.subject, fields.path, fields.error)
