"""Reads ``--gpu-modes`` and ``--compute-instances`` for commands that describe a node."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from agent.inventory.model import Inventory, SplitGpus
from agent.inventory.modes import GpuModes
from agent.inventory.options import mode_option, split_option
from daemon.command_line import InvalidOption
from tangram.errors import BadInput, bad_argument
from tangram.face import Parser


def add_gpu_modes(parser: Parser) -> None:
    """Add the options that say in which modes GPUs are offered, and whose GPU instances in parts."""
    mode_option.add_option(parser)
    split_option.add_option(parser)


def modes_and_split(options: Namespace) -> tuple[GpuModes, SplitGpus | None]:
    """Return what the options say. Raises: BadInput."""
    try:
        return (
            mode_option.read_gpu_modes(options.gpu_modes),
            split_option.read_split_gpus(options.compute_instances),
        )
    except InvalidOption as error:
        raise BadInput(str(error)) from error


def with_gpu_modes(inventory: Inventory, options: Namespace) -> Inventory:
    """Return the inventory with its GPUs offered as the options say. Raises: BadInput."""
    modes, split = modes_and_split(options)
    return replace(inventory, modes=modes, split=split)


def refuse_without_node(options: Namespace) -> None:
    """Refuse these options where no node is described. Raises: BadInput."""
    rule = "has no effect with --file and --cluster"
    for text in options.gpu_modes or ():
        raise bad_argument(mode_option.OPTION, text, rule)
    if options.compute_instances is not None:
        raise bad_argument(split_option.OPTION, options.compute_instances, rule)
