"""PURE: what a look at the machine says of its health."""

from __future__ import annotations

from agent.hardware.fabric.types import FabricMode
from agent.health.state import Facts
from agent.inventory.model import Inventory, Part
from agent.inventory.withheld import Cause

_ON_PURPOSE = (Cause.VFIO_DRIVER, Cause.OTHER_DRIVER)
"""Why a GPU is not in the driver where somebody gave it to another one."""


def facts_of(inventory: Inventory) -> Facts:
    """Return what an inventory says. Shape: what is remembered of an earlier look counts as there."""
    rules = inventory.vfs
    lasting = (nic for nic in inventory.nics if rules is None or rules.on_demand_of(nic) is None)
    return Facts(
        gpus={entry.gpu.uuid: entry.gpu.bdf for entry in inventory.gpus},
        unlisted=frozenset(one.function.bdf for one in inventory.unlisted),
        given_away=frozenset(
            one.function.bdf for one in inventory.unlisted if one.reason.cause in _ON_PURPOSE
        ),
        pfs=frozenset(nic.function.bdf for nic in inventory.nics),
        vfs=frozenset(vf.function.bdf for nic in lasting for vf in nic.vfs),
        are_gpus_read=Part.GPUS not in inventory.unread,
        is_joined_at_boot=inventory.fabric.mode is FabricMode.NONE,
    )
