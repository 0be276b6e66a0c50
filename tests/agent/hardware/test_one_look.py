"""One look at all GPUs limits how long it waits for GPUs that hang, and still reads the healthy ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from nvml_machine import NvmlMachine

from agent.hardware.late import LateGpus
from agent.hardware.nvml_process.process import Interruption
from agent.hardware.nvml_process.session import NvmlProcess, NvmlProcesses
from agent.hardware.open import simulated_hardware
from agent.hardware.types import Gpu
from agent.inventory.discover import discover
from agent.inventory.model import Inventory

FIRST, SECOND, OTHERS = 20, 10, 5


@dataclass
class Node:
    """A machine whose clock moves only while a call hangs, for as long as it was waited for."""

    machine: NvmlMachine
    interruption: Interruption = field(default_factory=Interruption)
    now: float = 1000.0
    waits: list[float] = field(default_factory=list)
    sessions: list[NvmlProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.processes = NvmlProcesses(self.interruption, clock=lambda: self.now, wait=self._wait)
        self.gpus = LateGpus(self._opened, clock=lambda: self.now)

    def _opened(self) -> NvmlProcess:
        self.sessions.append(self.processes.open())
        return self.sessions[-1]

    def _wait(self, inbox: Any, longest_s: float) -> Any:
        try:
            return self.machine.wait(inbox, longest_s)
        except Empty:
            self.now += longest_s
            self.waits.append(longest_s)
            raise

    def hang(self, function: str, *gpus: int) -> None:
        for gpu in gpus:
            self.machine.make(f"hang-{function}-{gpu}")

    def look(self) -> Inventory:
        """Look at the whole node; ``waits`` are those of this look."""
        self.waits.clear()
        return discover(replace(simulated_hardware(self.machine.simulated).readers, gpus=self.gpus), "node-1")

    def wait_for_ends(self) -> None:
        """Wait until every process in which a call hung has ended."""
        for session in self.sessions[:-1]:
            session.process.wait()


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    with NvmlMachine.made("a30x4", tmp_path) as machine:
        machine.enter(monkeypatch)
        made = Node(machine)
        yield made
        made.interruption.come()
        made.gpus.close()


def test_a_look_in_which_gpus_hang_reads_the_nics_and_the_healthy_gpu_behind_them(node: Node) -> None:
    node.hang("nvmlDeviceGetHandleByIndex_v2", 0, 1, 2)

    found = node.look()

    assert node.waits == [FIRST, SECOND, OTHERS]
    assert [entry.gpu.index for entry in found.gpus] == [3]
    assert found.nics


def test_gpus_that_hang_only_when_they_are_asked_by_uuid_share_the_time_with_the_others(node: Node) -> None:
    node.hang("nvmlDeviceGetHandleByIndex_v2", 0)
    node.hang("nvmlDeviceGetGpuInstanceProfileInfoV", 1, 2)

    found = node.look()

    assert node.waits == [FIRST, SECOND, OTHERS]
    assert [entry.gpu.index for entry in found.gpus] == [3]


def test_each_look_has_the_whole_time_again(node: Node) -> None:
    node.hang("nvmlDeviceGetHandleByIndex_v2", 0, 1)
    node.look()
    node.now += 60
    node.wait_for_ends()

    node.look()

    assert node.waits == [FIRST, SECOND]


def test_a_gpu_that_got_little_time_is_asked_again_later_as_any_that_hangs(node: Node) -> None:
    node.hang("nvmlDeviceGetHandleByIndex_v2", 0, 1)
    node.look()
    node.machine.mend("hang-nvmlDeviceGetHandleByIndex_v2-1")

    assert [entry.gpu.index for entry in node.look().gpus] == [2, 3]
    assert node.waits == []
    node.now += 60
    node.wait_for_ends()
    assert [entry.gpu.index for entry in node.look().gpus] == [1, 2, 3]


def test_questions_outside_a_look_wait_as_long_as_they_always_do(node: Node) -> None:
    node.hang("nvmlDeviceGetHandleByIndex_v2", 0, 1, 2)

    well = [gpu for gpu in node.gpus.gpus() if isinstance(gpu, Gpu)]

    assert node.waits == [FIRST] * 3
    assert len(well) == 1
