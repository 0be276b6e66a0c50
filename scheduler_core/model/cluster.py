"""A cluster as a value: what an allocation looks at, all at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler_core.base.features import ALL, Features
from scheduler_core.model.claim import AllocatedClaim, DeviceClass
from scheduler_core.model.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What an allocation looks at.

    Shape: ``pools`` one per (driver, name); ``classes`` by name; ``allocated`` claims that hold devices,
           in any order.
    """

    pools: tuple[Pool, ...]
    classes: Mapping[str, DeviceClass]
    allocated: tuple[AllocatedClaim, ...] = ()
    features: Features = ALL
