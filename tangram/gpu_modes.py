"""Reads ``--gpu-modes`` for commands that describe a node."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from agent.inventory import mode_option
from agent.inventory.model import Inventory
from agent.inventory.modes import GpuModes
from daemon.command_line import InvalidOption
from tangram.errors import BadInput
from tangram.face import Parser


def add_gpu_modes(parser: Parser) -> None:
    """Add the option that says in which modes GPUs are offered."""
    mode_option.add_option(parser)


def gpu_modes(options: Namespace) -> GpuModes:
    """Return the modes that the option says. Raises: BadInput."""
    try:
        return mode_option.read_gpu_modes(options.gpu_modes)
    except InvalidOption as error:
        raise BadInput(str(error)) from error


def with_gpu_modes(inventory: Inventory, options: Namespace) -> Inventory:
    """Return the inventory with the GPUs in the modes of the option. Raises: BadInput."""
    return replace(inventory, modes=gpu_modes(options))
