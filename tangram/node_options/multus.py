"""Reads ``--multus-resource`` for commands that describe a node."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from agent.inventory.model import Inventory
from agent.inventory.vfs import multus
from daemon.command_line import InvalidOption
from tangram.errors import BadInput


def with_multus(inventory: Inventory, options: Namespace) -> Inventory:
    """Return the inventory with the option's resource name. Raises: BadInput."""
    try:
        return replace(inventory, multus_resource=multus.read_multus_resource(options.multus_resource))
    except InvalidOption as error:
        raise BadInput(str(error)) from error
