"""The control daemons of MPS, as the driver's program runs them: started, asked, limited, ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from short_folders import short_folder

from agent.hardware.errors import HardwareFault, InvalidArgument, NotFound, TimedOut
from agent.hardware.mps.adapter import MpsProgram
from agent.hardware.mps.ports import MpsLimits, daemon_name
from agent.hardware.mps.processes import is_daemon
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node

PID_FILE = "nvidia-cuda-mps-control.pid"


@pytest.fixture
def machine() -> Iterator[SimulatedMachine]:
    """A machine in a folder with a path short enough for sockets."""
    with short_folder() as folder:
        yield SimulatedMachine.open(load_node("a100x2"), Path(folder))


@pytest.fixture
def mps(machine: SimulatedMachine) -> Iterator[MpsProgram]:
    control = simulated_hardware(machine).mps
    assert isinstance(control, MpsProgram)
    yield control
    for name in control.names():
        control.end_daemon(name)


@pytest.fixture
def uuid(machine: SimulatedMachine) -> str:
    return machine.node.cards[0].uuid


@pytest.fixture
def name(uuid: str) -> str:
    return daemon_name(uuid)


@pytest.fixture
def program(machine: SimulatedMachine) -> Callable[[str], None]:
    """Replace the driver's program by a shell script."""
    path = machine.root / "usr/bin/nvidia-cuda-mps-control"

    def put(text: str) -> None:
        path.write_text(f"#!/bin/sh\n{text}\n")

    return put


def pid_of(mps: MpsProgram, name: str) -> int:
    return int((mps.folders(name).pipe / PID_FILE).read_text())


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def __call__(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def test_a_daemon_that_was_started_runs_and_answers(mps: MpsProgram, name: str, uuid: str) -> None:
    assert not mps.is_running(name)
    assert not mps.answers(name)

    mps.start_daemon(name, uuid)

    assert mps.is_running(name)
    assert mps.answers(name)
    assert mps.names() == (name,)
    environment = Path(f"/proc/{pid_of(mps, name)}/environ").read_text().split("\0")
    assert f"CUDA_VISIBLE_DEVICES={uuid}" in environment


def test_a_daemon_is_in_a_session_of_its_own_and_no_child_of_its_starter(
    mps: MpsProgram, name: str, uuid: str
) -> None:
    mps.start_daemon(name, uuid)

    pid = pid_of(mps, name)
    assert os.getsid(pid) not in {os.getsid(0), os.getpid()}
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_every_user_can_reach_the_pipes_and_write_beside_them(mps: MpsProgram, name: str, uuid: str) -> None:
    mps.start_daemon(name, uuid)

    folders = mps.folders(name)
    assert [folder.stat().st_mode & 0o7777 for folder in (mps.base, folders.root)] == [0o755, 0o755]
    shared = (folders.pipe, folders.log, folders.shared_memory)
    assert [folder.stat().st_mode & 0o7777 for folder in shared] == [0o1777] * 3


def test_a_second_daemon_in_a_folder_is_refused_in_the_programs_words(
    mps: MpsProgram, name: str, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mps.start_daemon(name, uuid)
    monkeypatch.setattr("agent.hardware.mps.adapter.shutil.rmtree", lambda *_, **__: None)

    with pytest.raises(HardwareFault, match="An instance of this daemon is already running"):
        mps.start_daemon(name, uuid)


def test_an_ended_daemon_runs_no_more_and_ending_twice_equals_once(
    mps: MpsProgram, name: str, uuid: str
) -> None:
    mps.start_daemon(name, uuid)

    mps.end_daemon(name)
    mps.end_daemon(name)

    assert not mps.is_running(name)
    assert not mps.answers(name)
    mps.remove_folders(name)
    mps.remove_folders(name)
    assert mps.names() == ()


def test_a_daemon_that_does_not_quit_is_ended_by_force(
    mps: MpsProgram, name: str, uuid: str, program: Callable[[str], None]
) -> None:
    mps.start_daemon(name, uuid)
    program("exit 0")

    replace(mps, wait_s=0.1).end_daemon(name)

    assert not mps.is_running(name)


def test_a_daemon_is_ended_though_its_program_is_gone(
    mps: MpsProgram, name: str, uuid: str, machine: SimulatedMachine
) -> None:
    mps.start_daemon(name, uuid)
    (machine.root / "usr/bin/nvidia-cuda-mps-control").unlink()

    replace(mps, wait_s=0.1).end_daemon(name)

    assert not mps.is_running(name)


def test_what_a_killed_daemon_left_is_not_in_the_way_of_the_next(
    mps: MpsProgram, name: str, uuid: str
) -> None:
    mps.start_daemon(name, uuid)
    first = pid_of(mps, name)
    os.kill(first, signal.SIGKILL)
    while mps.is_running(name):
        pass
    assert (mps.folders(name).pipe / "control").exists()

    mps.start_daemon(name, uuid)

    assert pid_of(mps, name) != first
    assert mps.answers(name)


def test_another_process_with_the_number_of_a_dead_daemon_is_not_taken_for_it(
    mps: MpsProgram, name: str
) -> None:
    pipe = mps.folders(name).pipe
    pipe.mkdir(parents=True)
    (pipe / PID_FILE).write_text(f"{os.getpid()}\n")

    assert not mps.is_running(name)
    mps.end_daemon(name)  # and so this process goes on


def test_limits_are_the_daemons_own_and_what_it_refuses_is_told(
    mps: MpsProgram, name: str, uuid: str
) -> None:
    mps.start_daemon(name, uuid)

    mps.limit_programs(name, MpsLimits(50, 2048), uuid)

    with pytest.raises(HardwareFault, match="Invalid command: set_default_active_thread_percentage 101"):
        mps.limit_programs(name, MpsLimits(101), uuid)


def test_without_the_program_the_operator_is_told_to_install_it(
    mps: MpsProgram, name: str, uuid: str, machine: SimulatedMachine
) -> None:
    (machine.root / "usr/bin/nvidia-cuda-mps-control").unlink()

    with pytest.raises(NotFound, match="the operator must install the driver's MPS programs"):
        mps.start_daemon(name, uuid)

    assert mps.names() == ()


def test_a_program_that_fails_is_quoted(
    mps: MpsProgram, name: str, uuid: str, program: Callable[[str], None]
) -> None:
    program("echo 'no GPU is visible'; exit 1")

    with pytest.raises(HardwareFault, match="its program says: no GPU is visible"):
        mps.start_daemon(name, uuid)


def test_a_daemon_that_never_answers_is_waited_for_without_haste(
    mps: MpsProgram, name: str, uuid: str, program: Callable[[str], None]
) -> None:
    program("exit 0")
    clock = Clock()
    patient: Any = replace(mps, clock=clock, sleep=clock.sleep)

    with pytest.raises(TimedOut, match="it does not answer after 5 s; its log is in"):
        patient.start_daemon(name, uuid)

    assert min(clock.slept) >= 0.05


def test_a_folder_too_deep_for_sockets_is_refused_before_anything_is_made(
    mps: MpsProgram, name: str, uuid: str
) -> None:
    deep = replace(mps, base=mps.base / ("x" * 100))

    with pytest.raises(InvalidArgument, match="longer than the 107 bytes"):
        deep.start_daemon(name, uuid)

    assert not deep.base.exists()


def test_a_reboot_leaves_neither_a_daemon_nor_its_folder(
    mps: MpsProgram, name: str, uuid: str, machine: SimulatedMachine
) -> None:
    mps.start_daemon(name, uuid)

    machine.reboot()

    assert mps.names() == ()
    assert not mps.is_running(name)


def test_a_daemon_of_before_a_reboot_leaves_the_files_of_the_next_one_alone(
    mps: MpsProgram, name: str, uuid: str, machine: SimulatedMachine
) -> None:
    mps.start_daemon(name, uuid)
    old = pid_of(mps, name)
    machine.reboot()

    mps.start_daemon(name, uuid)

    while is_daemon(Path("/proc"), old, mps.folders(name).pipe):  # it looks for its file now and then
        pass
    assert mps.is_running(name)
    assert mps.answers(name)
