"""Every adapter of the ``Gpus`` port, over every shipped machine with MIG; NVML also in its own process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from nvml_machine import NvmlMachine

from agent.hardware.late import LateGpus
from agent.hardware.nvml import Nvml
from agent.hardware.nvml_process.process import Interruption
from agent.hardware.nvml_process.session import NvmlProcesses
from agent.hardware.ports import Gpus
from agent.hardware.simulated import SimulatedMachine
from agent.hardware.types import GpuUuid

WITH_MIG = ("a100x2", "dgx-a100", "hgx-h100", "hgx-h200", "a30x4")


@pytest.fixture(scope="module", params=WITH_MIG)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NvmlMachine]:
    with NvmlMachine.made(request.param, tmp_path_factory.mktemp(request.param)) as made:
        yield made


@pytest.fixture(scope="module")
def machine(made: NvmlMachine) -> SimulatedMachine:
    return made.simulated


@pytest.fixture(scope="module")
def in_process(made: NvmlMachine) -> Iterator[LateGpus]:
    """The adapter in a process of its own."""
    gpus = LateGpus(NvmlProcesses(Interruption()).open)
    with pytest.MonkeyPatch.context() as patch:
        made.enter(patch)
        gpus.versions()
    yield gpus
    gpus.close()


@pytest.fixture(params=["simulated", "nvml", "nvml in a process"])
def hardware(
    request: pytest.FixtureRequest, machine: SimulatedMachine, nvml_over: Callable[[Gpus], Nvml]
) -> Gpus:
    if request.param == "nvml in a process":
        gpus: LateGpus = request.getfixturevalue("in_process")
        return gpus
    return machine.gpus if request.param == "simulated" else nvml_over(machine.gpus)


@pytest.fixture
def uuid(machine: SimulatedMachine) -> GpuUuid:
    return machine.node.cards[0].uuid
