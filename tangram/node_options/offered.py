"""What a node offers because its options say so: as the demo reads them, for agent and plugin at once."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import field, replace

from agent import node_options
from agent.inventory.model import Inventory, LinkedGpus, SplitGpus
from agent.inventory.modes import GpuModes
from agent.inventory.table_files import BadTable, read_table
from scheduler_core.base.quick_dataclass import dataclass
from tangram.errors import BadInput
from tangram.face import Parser
from tangram.node_options.gpu_modes import add_gpu_modes, modes_and_split
from tangram.node_options.imex import imex_channels
from tangram.node_options.shown import add_partitions


@dataclass(frozen=True, slots=True)
class Offered:
    """What agent and plugin of a node are told alike. Shape: None where an option is not given."""

    modes: GpuModes = field(default_factory=GpuModes)
    split: SplitGpus | None = None
    linked: LinkedGpus | None = None
    imex_channels: int = 0

    def on(self, inventory: Inventory) -> Inventory:
        """Return the inventory as the agent describes it with these options."""
        return replace(
            inventory,
            modes=self.modes,
            split=self.split,
            linked=self.linked,
            imex_channels=self.imex_channels,
        )


def add_offered(parser: Parser) -> None:
    """Add the options."""
    add_gpu_modes(parser)
    add_partitions(parser)
    node_options.add_imex_channels(parser)


def read_offered(options: Namespace) -> Offered:
    """Return what the options say. Raises: BadInput."""
    modes, split = modes_and_split(options)
    try:
        linked = read_table(options.partitions, options.partition_policy)
    except BadTable as error:
        raise BadInput(str(error)) from error
    return Offered(modes, split, linked, imex_channels(options))
