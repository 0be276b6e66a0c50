"""Each node is described once in a process: to describe one takes longer than all that most tests do with it.

A description is a value that follows from its inventory alone, and nobody changes it. So tests that have the
same node again and again, killed processes among them, share the description of equal inventories.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from agent.inventory.describe import describe
from agent.inventory.model import Inventory, NodeDevices
from plugin.machine import node
from scheduler_core.model.names import DEFAULT_DRIVER

_KEPT: Final[deque[tuple[Inventory, str, NodeDevices]]] = deque(maxlen=64)
"""The last ones: a node with its instances has a few states."""


def describe_once(inventory: Inventory, driver: str = DEFAULT_DRIVER) -> NodeDevices:
    """Return the description of an inventory, the same object for an equal one."""
    for known, whose, found in _KEPT:
        if whose == driver and known == inventory:
            return found
    found = describe(inventory, driver)
    _KEPT.append((inventory, driver, found))
    return found


def keep_descriptions() -> None:
    """Let the plugin describe each node once, in this process and in those that are forked from it."""
    node.describe = describe_once  # type: ignore[attr-defined]
