"""Reads ``--imex-channels`` for commands that describe a node."""

from __future__ import annotations

from argparse import Namespace

from agent.inventory.fabric import imex
from daemon.command_line import InvalidOption
from tangram.errors import BadInput


def imex_channels(options: Namespace) -> int:
    """Return how many the option says. Raises: BadInput."""
    try:
        return imex.read_imex_channels(options.imex_channels)
    except InvalidOption as error:
        raise BadInput(str(error)) from error
