"""Reads ``--vfs`` for commands that describe a node."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from agent.inventory.model import Inventory
from agent.inventory.vfs import option as vf_option
from daemon.command_line import InvalidOption
from tangram.errors import BadInput


def with_vf_rules(inventory: Inventory, options: Namespace) -> Inventory:
    """Return the inventory with the rules of the option. Raises: BadInput."""
    try:
        return replace(inventory, vfs=vf_option.read_vf_rules(options.vfs))
    except InvalidOption as error:
        raise BadInput(str(error)) from error
