"""The taint on devices that cannot be read for a moment: it keeps new claims off them.

They stay in the slices as they were, so nothing that runs is disturbed, and the next look may find them well.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Final

from scheduler_core.model.device import DeviceName
from scheduler_core.model.pool import Pool
from scheduler_core.model.taints import Effect, Taint

UNREADABLE: Final = Taint("tangram.dev/unreadable", effect=Effect.NO_SCHEDULE)
"""The taint on a device that is published as an earlier look found it."""


def with_unreadable(pool: Pool, names: Set[DeviceName]) -> Pool:
    """Return the pool with the taint on the devices of these names."""
    if names.isdisjoint(device.name for device in pool.devices):
        return pool
    tainted = (
        replace(one, taints=(*one.taints, UNREADABLE)) if one.name in names else one for one in pool.devices
    )
    return replace(pool, devices=tuple(tainted))
