"""Every adapter of the ``Gpus`` port, over every shipped machine with MIG."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.hardware.nvml import Nvml
from agent.hardware.ports import Gpus
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import GpuUuid

WITH_MIG = ("a100x2", "dgx-a100", "hgx-h100", "hgx-h200", "a30x4")


@pytest.fixture(scope="session", params=WITH_MIG)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SimulatedMachine:
    return SimulatedMachine.open(load_node(request.param), tmp_path_factory.mktemp(request.param))


@pytest.fixture(params=["simulated", "nvml"])
def hardware(
    request: pytest.FixtureRequest, machine: SimulatedMachine, nvml_over: Callable[[Gpus], Nvml]
) -> Gpus:
    return machine.gpus if request.param == "simulated" else nvml_over(machine.gpus)


@pytest.fixture
def uuid(machine: SimulatedMachine) -> GpuUuid:
    return machine.node.cards[0].uuid
