"""A simulated node, discovered through the real readers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.hardware.ports import Readers
from agent.hardware.procfs import ProcBoot
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.sysfs import Sysfs
from agent.inventory import discover
from agent.inventory.model import Inventory


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[str], SimulatedMachine]:
    return lambda name: SimulatedMachine.open(load_node(name), tmp_path / name)


@pytest.fixture
def inventory_of() -> Callable[[SimulatedMachine], Inventory]:
    def read(machine: SimulatedMachine) -> Inventory:
        return discover(Readers(machine.gpus, Sysfs(machine.root), ProcBoot(machine.root)), "node-1")

    return read
