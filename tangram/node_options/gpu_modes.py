"""Reads ``--gpu-modes`` and ``--compute-instances`` for commands that describe a node."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from agent import node_options
from agent.inventory.model import Inventory, SplitGpus
from agent.inventory.modes import GpuModes
from agent.inventory.options import mode_option, split_option
from daemon.command_line import InvalidOption
from tangram.errors import BadInput
from tangram.face import Parser


def add_gpu_modes(parser: Parser) -> None:
    """Add the options that say in which modes GPUs are offered, and whose GPU instances in parts."""
    node_options.add_gpu_modes(parser)
    node_options.add_compute_instances(parser)


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
