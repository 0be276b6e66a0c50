"""A GPU whose mode cannot change: who holds it is named, and NVML processes of this driver let go of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from devices_of_kinds import modes_of
from gpu_programs import CLIENT, Started, programs, said
from nvml_machine import NvmlMachine

from agent.hardware.clients.adapter import ProcClients
from agent.hardware.clients.ports import Client
from agent.hardware.driver_root import DriverRoot
from agent.hardware.late import LateGpus
from agent.hardware.nvml_process.process import Interruption
from agent.hardware.nvml_process.session import NvmlProcesses
from agent.hardware.types import Gpu
from agent.inventory.modes import GpuModes
from agent.inventory.numbers.numbering import NumberedGpu
from plugin.base.errors import GpuBusy
from plugin.machine.mig.made import MadeModes
from plugin.machine.mig.modes import MigModes
from plugin.machine.waiting import Waiting

AGENT = """
import sys
from agent.hardware.late import LateGpus
from agent.hardware.nvml_process.process import Interruption
from agent.hardware.nvml_process.session import NvmlProcesses

gpus = LateGpus(NvmlProcesses(Interruption(), aside_s=0).open)
while True:
    print(len(gpus.gpus()), flush=True)
    if not sys.stdin.readline():
        break
"""
"""A program that reads its GPUs once for each line of its input; ``agent`` is among its arguments."""


@pytest.fixture
def started() -> Iterator[Started]:
    with programs() as start:
        yield start


def number(gpu: Any) -> NumberedGpu:
    assert isinstance(gpu, Gpu)
    return NumberedGpu.of(gpu, gpu.index)


def refused(modes: MigModes, gpu: NumberedGpu) -> str:
    with pytest.raises(GpuBusy) as refusal:
        modes.turn_on(gpu)
    assert refusal.value.retry
    return refusal.value.reason


def test_who_holds_a_busy_gpu_is_named_with_its_number(bench: Any, started: Started) -> None:
    gpu = number(bench.simulated.gpus.gpus()[0])
    dcgm = started(CLIENT, bench.simulated.directory, 0, "nv-hostengine")
    assert said(dcgm)

    reason = refused(modes_of(bench), gpu)

    assert reason.startswith(f"pending: the GPU is in use by nv-hostengine ({dcgm.pid})")
    assert not bench.is_in_mig_mode(0)


def test_of_many_clients_five_are_named_and_the_others_counted(bench: Any, started: Started) -> None:
    gpu = number(bench.simulated.gpus.gpus()[0])
    clients = started(CLIENT, bench.simulated.directory, 0, *(f"train-{index}" for index in range(7)))
    lines = [said(clients).split() for _ in range(7)]

    reason = refused(modes_of(bench), gpu)

    first = sorted((int(pid), name) for pid, name in lines)[:5]
    named = ", ".join(f"{name} ({pid})" for pid, name in first)
    assert reason == f"pending: the GPU is in use by {named} and 2 more"


def test_a_client_that_nobody_sees_is_not_made_up(bench: Any) -> None:
    bench.inject("gpu-0:in-use")

    reason = refused(modes_of(bench), number(bench.simulated.gpus.gpus()[0]))

    assert reason == "pending: the GPU is in use by no process that can be seen"


def test_a_claim_that_is_refused_for_it_says_who_holds_the_gpu(bench: Any, started: Started) -> None:
    client = started(CLIENT, bench.simulated.directory, 0, "nv-hostengine")
    assert said(client)

    with pytest.raises(GpuBusy, match=rf"in use by nv-hostengine \({client.pid}\)"):
        bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")

    assert bench.leftovers() == []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NvmlMachine]:
    """A machine on which each NVML process holds the GPUs that it has handles of."""
    with NvmlMachine.made("a100x2", tmp_path) as made:
        made.enter(monkeypatch)
        made.make("holds")
        yield made


@pytest.fixture
def modes(machine: NvmlMachine, tmp_path: Path) -> Iterator[MigModes]:
    """What the plugin changes modes with, through an NVML process of its own."""
    gpus = LateGpus(NvmlProcesses(Interruption()).open)
    yield MigModes(
        gpus=gpus,
        clients=ProcClients(gpus, DriverRoot(machine.simulated.root)),
        waiting=Waiting(most_s=60.0, clock=time.monotonic, sleep=time.sleep),
        made=MadeModes(tmp_path / "mig-modes"),
        policy=GpuModes(),
    )
    gpus.close()


@pytest.fixture
def gpu(modes: MigModes) -> NumberedGpu:
    return number(modes.gpus.gpus()[0])


def test_the_plugins_own_nvml_process_keeps_nothing_from_changing(modes: MigModes, gpu: NumberedGpu) -> None:
    modes.turn_on(gpu)

    assert modes.clients.of(gpu.uuid).found == ()


def test_the_agent_lets_go_of_a_gpu_whose_mode_is_to_change_and_goes_on(
    machine: NvmlMachine, modes: MigModes, gpu: NumberedGpu, started: Started
) -> None:
    agent = started(AGENT, "agent")
    assert said(agent) == "2"
    (held,) = modes.clients.of(gpu.uuid).found
    assert (held.name, held.program, held.steps_aside) == ("tangram-nvml", "agent", True)

    modes.turn_on(gpu)

    assert machine.simulated.gpus.mig_mode(gpu.uuid).current
    assert agent.stdin is not None
    agent.stdin.write("\n")
    agent.stdin.flush()
    assert said(agent) == "2"


def test_the_agent_is_left_alone_where_somebody_else_holds_the_gpu_too(
    machine: NvmlMachine, modes: MigModes, gpu: NumberedGpu, started: Started
) -> None:
    assert said(started(AGENT, "agent")) == "2"
    dcgm = started(CLIENT, machine.simulated.directory, 0, "nv-hostengine")
    assert said(dcgm)
    before = modes.clients.of(gpu.uuid).found

    reason = refused(modes, gpu)

    (ours,) = (one for one in before if one.steps_aside)
    assert f"tangram-nvml of the agent ({ours.pid})" in reason
    assert f"nv-hostengine ({dcgm.pid})" in reason
    assert modes.clients.of(gpu.uuid).found == before


def test_an_agent_that_does_not_let_go_in_time_is_named(
    machine: NvmlMachine, modes: MigModes, gpu: NumberedGpu, started: Started
) -> None:
    assert said(started(AGENT, "agent")) == "2"
    (held,) = modes.clients.of(gpu.uuid).found

    class Unmoved(ProcClients):
        def ask_to_step_aside(self, client: Client) -> None:
            """The signal comes to a process that waits in the kernel."""

    stubborn = Unmoved(modes.gpus, DriverRoot(machine.simulated.root))
    no_time = Waiting(most_s=0.0, clock=time.monotonic, sleep=time.sleep)

    reason = refused(replace(modes, clients=stubborn, waiting=no_time), gpu)

    assert f"in use by tangram-nvml of the agent ({held.pid})" in reason
