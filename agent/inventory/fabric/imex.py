"""IMEX channels as devices: numbers by which programs on several nodes of one NVLink domain share memory.

The driver has them as device numbers of one kind, without a relation to any GPU; a process that can open
channel N takes part in N. Source: NVIDIA IMEX Guide, "IMEX Channels".
"""

from __future__ import annotations

from typing import Final

from agent import node_options
from agent.inventory.model import Group, Inventory
from agent.inventory.names import imex_name
from agent.inventory.published import ImexChannel
from daemon.command_line import require
from scheduler_core.model.composite import CompositeDevice, Mixin
from scheduler_core.model.device import DeviceName
from scheduler_core.model.names import qualified

OPTION: Final = node_options.IMEX_CHANNELS
TYPE: Final = "imex-channel"
MOST: Final = 2048
"""How many channels the driver makes by default. Its parameter can raise the number."""


def read_imex_channels(count: int) -> int:
    """Return how many channels are offered. Raises: InvalidOption."""
    require(0 <= count <= MOST, OPTION, count, f"must be from 0 to {MOST}")
    return count


class ImexDescriber:
    """Describes the IMEX channels of one node."""

    def __init__(self, driver: str) -> None:
        self.driver = driver
        self.groups: list[Group] = []
        self.by_name: dict[DeviceName, ImexChannel] = {}
        self.left_out: list[str] = []

    def describe(self, inventory: Inventory) -> None:
        """Describe the channels that are wanted, from 0; a driver without any is told once."""
        if not inventory.imex_channels:
            return
        if not inventory.has_imex:
            reason = "the driver has no IMEX channels; the operator loads it with NVreg_ImexChannelCount"
            self.left_out.append(f"IMEX channels: {reason}")
            return
        shared = Mixin(name=TYPE, attributes={qualified("type", self.driver): TYPE})
        for number in range(inventory.imex_channels):
            self.by_name[imex_name(number)] = ImexChannel(number)
        number_key = qualified("channel", self.driver)
        devices = (
            CompositeDevice(name=name, includes=(TYPE,), attributes={number_key: channel.number})
            for name, channel in self.by_name.items()
        )
        self.groups.append(Group(mixins=(shared,), devices=tuple(devices)))
