"""A simulated node, discovered through the real readers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import discover
from agent.inventory.model import Inventory


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[str], SimulatedMachine]:
    return lambda name: SimulatedMachine.open(load_node(name), tmp_path / name)


@pytest.fixture
def inventory_of() -> Callable[[SimulatedMachine], Inventory]:
    def read(machine: SimulatedMachine) -> Inventory:
        return discover(simulated_hardware(machine).readers, "node-1")

    return read
