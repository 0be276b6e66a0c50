"""Reads ``--gpu-modes`` and ``--compute-instances`` for commands that describe a node."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field, replace

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


@dataclass(frozen=True, slots=True)
class Offered:
    """In which modes GPUs are offered, and whose GPU instances in parts. Shape: ``split`` None for none."""

    modes: GpuModes = field(default_factory=GpuModes)
    split: SplitGpus | None = None

    def on(self, inventory: Inventory) -> Inventory:
        """Return the inventory with its GPUs offered so."""
        return replace(inventory, modes=self.modes, split=self.split)


def offered_gpus(options: Namespace) -> Offered:
    """Return what the options say. Raises: BadInput."""
    try:
        return Offered(
            mode_option.read_gpu_modes(options.gpu_modes),
            split_option.read_split_gpus(options.compute_instances),
        )
    except InvalidOption as error:
        raise BadInput(str(error)) from error


def with_gpu_modes(inventory: Inventory, options: Namespace) -> Inventory:
    """Return the inventory with its GPUs offered as the options say. Raises: BadInput."""
    return offered_gpus(options).on(inventory)


def refuse_without_node(options: Namespace) -> None:
    """Refuse these options where no node is described. Raises: BadInput."""
    rule = "has no effect with --file and --cluster"
    for text in options.gpu_modes or ():
        raise bad_argument(mode_option.OPTION, text, rule)
    if options.compute_instances is not None:
        raise bad_argument(split_option.OPTION, options.compute_instances, rule)
