"""A machine whose GPUs are joined on request, and both adapters of its fabric manager."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_nvfm import FakeLibrary
from shared_nvswitch import shared_node

from agent.hardware.driver_root import DriverRoot
from agent.hardware.fabric.nvfm import Nvfm
from agent.hardware.simulated import SimulatedMachine


@pytest.fixture
def machine(tmp_path: Path) -> SimulatedMachine:
    return SimulatedMachine.open(shared_node(), tmp_path / "machine")


@pytest.fixture
def library(machine: SimulatedMachine) -> FakeLibrary:
    return FakeLibrary(machine.fabric)


@pytest.fixture
def nvfm(machine: SimulatedMachine, library: FakeLibrary) -> Nvfm:
    """Our real adapter, on the files of the simulated machine, over the fake library."""
    files = DriverRoot(machine.root)
    return Nvfm(files.fabric_roots(), files.fabric_library, lambda _: library)
