"""Pools as whoever allocates their devices sees them: without the taint that keeps other allocators off."""

from __future__ import annotations

from dataclasses import replace

from scheduler_core.model.ownership import CONTROLLER, OWNER
from scheduler_core.model.pool import Pool
from scheduler_core.model.taints import Taint


def as_owner_sees(pool: Pool) -> Pool:
    """Return a pool without the taint that marks devices as the controller's."""
    if not any(map(_is_owners, (taint for device in pool.devices for taint in device.taints))):
        return pool
    devices = tuple(
        replace(device, taints=tuple(one for one in device.taints if not _is_owners(one)))
        for device in pool.devices
    )
    return replace(pool, devices=devices)


def _is_owners(taint: Taint) -> bool:
    return (taint.key, taint.value) == (OWNER, CONTROLLER)
