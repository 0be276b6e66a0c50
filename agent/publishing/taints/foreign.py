"""The taint on devices that overlap a foreign MIG instance: no claim could have one on the node. Pure.

This is for the v1 slices; ``composite`` does the same for the composite ones. A server that drops taints does
not get these devices: they would seem free there.
"""

from __future__ import annotations

from dataclasses import replace

from agent.inventory.foreign.found import InTheWay
from agent.inventory.model import NodeDevices
from scheduler_core.dialects.project import spellings
from scheduler_core.model.pool import Pool


def with_foreign(pool: Pool, devices: NodeDevices, in_the_way: InTheWay) -> Pool:
    """Return a v1 pool with the taints. Shape: ``devices`` are what the pool was made from."""
    if not in_the_way.devices:
        return pool
    names = spellings(devices.pool).devices
    taints = {names[name]: one.taint for name, one in in_the_way.devices.items() if name in names}
    tainted = (
        replace(one, taints=(*one.taints, taints[one.name])) if one.name in taints else one
        for one in pool.devices
    )
    return replace(pool, devices=tuple(tainted))
