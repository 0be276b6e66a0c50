"""Reads ``--shared-gpus`` for commands that describe a node."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from agent.inventory import shared_option
from agent.inventory.model import Inventory, SharedGpus
from daemon.command_line import InvalidOption
from tangram.errors import BadInput
from tangram.face import Parser


def add_shared_gpus(parser: Parser) -> None:
    """Add the option that offers GPUs in shares."""
    shared_option.add_option(parser)


def shared_gpus(options: Namespace) -> SharedGpus | None:
    """Return the GPUs that the option names, None without it. Raises: BadInput."""
    try:
        return shared_option.read_shared_gpus(options.shared_gpus)
    except InvalidOption as error:
        raise BadInput(str(error)) from error


def with_shared_gpus(inventory: Inventory, options: Namespace) -> Inventory:
    """Return the inventory with the GPUs of the option in shares. Raises: BadInput."""
    return replace(inventory, shared=shared_gpus(options))
