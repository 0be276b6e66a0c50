"""Reads ``--shared-gpus`` and ``--compute-instances`` for commands that describe a node."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, replace

from agent.inventory import shared_option, split_option
from agent.inventory.model import Inventory, SharedGpus, SplitGpus
from daemon.command_line import InvalidOption
from tangram.errors import BadInput, bad_argument
from tangram.face import Parser


def add_shared_gpus(parser: Parser) -> None:
    """Add the options that offer GPUs in shares, and GPU instances in parts."""
    shared_option.add_option(parser)
    split_option.add_option(parser)


@dataclass(frozen=True, slots=True)
class Offered:
    """Which GPUs are also offered in shares, and whose GPU instances in parts. Shape: None for none."""

    shared: SharedGpus | None = None
    split: SplitGpus | None = None

    def on(self, inventory: Inventory) -> Inventory:
        """Return the inventory with these GPUs in shares, and in parts."""
        return replace(inventory, shared=self.shared, split=self.split)


def shared_gpus(options: Namespace) -> Offered:
    """Return the GPUs that the options name. Raises: BadInput."""
    try:
        return Offered(
            shared_option.read_shared_gpus(options.shared_gpus),
            split_option.read_split_gpus(options.compute_instances),
        )
    except InvalidOption as error:
        raise BadInput(str(error)) from error


def with_shared_gpus(inventory: Inventory, options: Namespace) -> Inventory:
    """Return the inventory with the GPUs of the options. Raises: BadInput."""
    return shared_gpus(options).on(inventory)


def refuse_without_node(options: Namespace) -> None:
    """Refuse these options where no node is described. Raises: BadInput."""
    rule = "has no effect with --sizes, --file and --cluster"
    given = {
        shared_option.OPTION: options.shared_gpus,
        split_option.OPTION: options.compute_instances,
    }
    for option, value in given.items():
        if value is not None:
            raise bad_argument(option, value, rule)
