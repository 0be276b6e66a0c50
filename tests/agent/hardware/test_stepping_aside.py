"""NVML processes that step aside for somebody who needs the driver: nothing is lost, nobody is refused."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from nvml_machine import NvmlMachine

from agent.hardware.errors import GivenUp
from agent.hardware.late import LateGpus
from agent.hardware.nvml_process.process import Interruption
from agent.hardware.nvml_process.session import STEP_ASIDE_S, NvmlProcess, NvmlProcesses
from agent.hardware.types import GpuUuid, ModeChange

PAUSES_IN_GPU_0 = "pause-nvmlDeviceGetMinorNumber-0"


class Program:
    """A program with GPUs and the processes that were started for it; its pauses take no time."""

    def __init__(self) -> None:
        self.interruption = Interruption()
        self.paused_s: list[float] = []
        self.sessions: list[NvmlProcess] = []
        processes = NvmlProcesses(self.interruption, clock=lambda: 1000.0, pause=self._pause)

        def opened() -> NvmlProcess:
            self.sessions.append(processes.open())
            return self.sessions[-1]

        self.gpus = LateGpus(opened)

    def _pause(self, inbox: Any, longest_s: float) -> Any:
        self.paused_s.append(longest_s)
        raise Empty

    def step_aside(self) -> None:
        os.kill(self.sessions[-1].process.pid, signal.SIGUSR1)

    def wait_for_end(self, session: int = -1) -> None:
        self.sessions[session].process.wait()


@contextmanager
def running() -> Iterator[Program]:
    program = Program()
    try:
        yield program
    finally:
        program.interruption.come()
        program.gpus.close()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NvmlMachine]:
    with NvmlMachine.made("a100x2", tmp_path) as made:
        made.enter(monkeypatch)
        yield made


@pytest.fixture
def program(machine: NvmlMachine) -> Iterator[Program]:
    with running() as made:
        yield made


@pytest.fixture
def uuids(machine: NvmlMachine) -> tuple[GpuUuid, ...]:
    return tuple(card.uuid for card in machine.simulated.node.cards)


def test_its_handles_are_gone_and_the_next_call_opens_the_driver_again(
    program: Program, machine: NvmlMachine, uuids: tuple[GpuUuid, ...]
) -> None:
    machine.make("holds")
    program.gpus.gpus()
    assert machine.simulated.gpus.set_mig_mode(uuids[0], True) is ModeChange.PENDING_IN_USE

    program.step_aside()
    program.wait_for_end()

    assert machine.simulated.gpus.set_mig_mode(uuids[0], True) is ModeChange.ACTIVE
    assert len(program.gpus.gpus()) == 2
    assert program.paused_s == [STEP_ASIDE_S]


def test_a_call_in_it_is_answered_first(
    program: Program, machine: NvmlMachine, uuids: tuple[GpuUuid, ...]
) -> None:
    program.gpus.gpus()
    machine.make(PAUSES_IN_GPU_0)

    with ThreadPoolExecutor() as pool:
        asked = pool.submit(program.gpus.minor, uuids[0])
        machine.wait_until_paused()
        machine.mend(PAUSES_IN_GPU_0)
        program.step_aside()
        machine.resume()
        assert asked.result() == 0

    program.wait_for_end()
    assert len(program.sessions) == 1


def test_a_call_that_came_too_late_for_it_is_asked_of_the_next_one(
    program: Program, machine: NvmlMachine, uuids: tuple[GpuUuid, ...]
) -> None:
    program.gpus.gpus()
    machine.make(PAUSES_IN_GPU_0)

    with ThreadPoolExecutor() as pool:
        asked = pool.submit(program.gpus.minor, uuids[0])
        machine.wait_until_paused()
        machine.mend(PAUSES_IN_GPU_0)
        os.kill(program.sessions[0].process.pid, signal.SIGSTOP)
        program.step_aside()
        late = pool.submit(program.gpus.set_mig_mode, uuids[1], True)
        os.kill(program.sessions[0].process.pid, signal.SIGCONT)
        machine.resume()
        assert (asked.result(), late.result()) == (0, ModeChange.ACTIVE)

    program.wait_for_end(0)


def test_the_end_of_the_program_ends_the_wait_for_the_driver(program: Program, machine: NvmlMachine) -> None:
    pausing = NvmlProcesses(program.interruption, clock=lambda: 1000.0)
    first = pausing.open()
    os.kill(first.process.pid, signal.SIGUSR1)
    first.process.wait()

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(pausing.open)
        program.interruption.come()
        with pytest.raises(GivenUp, match="the program ends"):
            waiting.result()


def test_a_process_that_is_asked_before_it_can_listen_ends_and_the_call_is_made(
    program: Program, machine: NvmlMachine
) -> None:
    pids: list[int] = []

    class Asked(NvmlProcess):
        def begin(self, library: Path | None) -> None:
            if not pids:
                pids.append(self.process.pid)
                os.kill(self.process.pid, signal.SIGUSR1)  # Python has not even started in it
            super().begin(library)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agent.hardware.nvml_process.session.NvmlProcess", Asked)
        assert len(program.gpus.gpus()) == 2

    assert pids[0] != program.sessions[-1].process.pid
