"""Events through NVML in a process of its own: waiting is in nobody's way, every session begins anew."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from nvml_machine import NvmlMachine

from agent.hardware.errors import DriverLetGo, GivenUp, HardwareError, SessionEnded, TimedOut, Unanswered
from agent.hardware.late import LateGpus
from agent.hardware.nvml_process.late_events import LateEvents
from agent.hardware.nvml_process.process import Interruption
from agent.hardware.nvml_process.session import NvmlProcess, NvmlProcesses
from agent.hardware.simulated import parse_injected
from agent.hardware.types import Gpu, GpuUuid

LONG_S = 3600.0
PAUSES_IN_WAIT = "pause-nvmlEventSetWait_v2"
HANGS_IN_WAIT = "hang-nvmlEventSetWait_v2"


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Opened:
    """A program that hears a machine's events, with the processes that were started for it."""

    machine: NvmlMachine
    clock: Clock = field(default_factory=Clock)
    interruption: Interruption = field(default_factory=Interruption)
    sessions: list[NvmlProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        processes = NvmlProcesses(
            self.interruption, clock=self.clock, wait=self.machine.wait, pause=self._pause
        )

        def opened() -> NvmlProcess:
            self.sessions.append(processes.open())
            return self.sessions[-1]

        self.gpus = LateGpus(opened, clock=self.clock, wall_clock=lambda: 1_800_000_000.0)
        self.events = LateEvents(self.gpus, clock=self.clock)

    def _pause(self, inbox: Any, longest_s: float) -> Any:
        raise Empty

    def end(self, number: signal.Signals) -> None:
        """Send the present process a signal and return once it is gone."""
        os.kill(self.sessions[-1].process.pid, number)
        self.sessions[-1].process.wait()

    def hears(self, text: str) -> bool:
        """Whether an event that is raised now is heard."""
        self.machine.simulated.inject(parse_injected(text))
        return [str(event.xid) in text for event in self.events.wait(0).events] == [True]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NvmlMachine]:
    with NvmlMachine.made("a100x2", tmp_path) as made:
        made.enter(monkeypatch)
        yield made


@pytest.fixture
def opened(machine: NvmlMachine) -> Iterator[Opened]:
    made = Opened(machine)
    yield made
    made.interruption.come()
    made.gpus.close()


@pytest.fixture
def uuids(machine: NvmlMachine) -> tuple[GpuUuid, ...]:
    return tuple(card.uuid for card in machine.simulated.node.cards)


def test_an_event_ends_the_waiting_though_much_time_is_left(opened: Opened) -> None:
    opened.events.wait(0)
    opened.machine.make(PAUSES_IN_WAIT)

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(opened.events.wait, LONG_S)
        opened.machine.wait_until_paused()
        opened.machine.mend(PAUSES_IN_WAIT)
        opened.machine.resume()
        opened.machine.simulated.inject(parse_injected("gpu-1:xid=31"))
        (event,) = waiting.result().events

    assert event.xid == 31


def test_a_process_steps_aside_at_once_while_it_waits_for_events(opened: Opened) -> None:
    opened.events.wait(0)
    opened.machine.make(PAUSES_IN_WAIT)

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(opened.events.wait, LONG_S)
        opened.machine.wait_until_paused()
        opened.machine.mend(PAUSES_IN_WAIT)
        opened.end(signal.SIGUSR1)  # the call never returns
        assert waiting.result().events == ()

    assert opened.events.wait(LONG_S).is_new_session
    assert opened.hears("gpu-0:xid=31")


def test_a_process_lets_go_of_the_driver_while_it_waits_for_events(opened: Opened) -> None:
    opened.events.wait(0)
    opened.machine.make(PAUSES_IN_WAIT)

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(opened.events.wait, LONG_S)
        opened.machine.wait_until_paused()
        opened.end(signal.SIGTERM)
        with pytest.raises(DriverLetGo):
            waiting.result()

    with pytest.raises(DriverLetGo):
        opened.events.wait(LONG_S)


def test_the_end_of_the_program_ends_the_waiting(opened: Opened) -> None:
    opened.events.wait(0)
    opened.machine.make(PAUSES_IN_WAIT)

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(opened.events.wait, LONG_S)
        opened.machine.wait_until_paused()
        opened.interruption.come()
        with pytest.raises(GivenUp):
            waiting.result()


def test_calls_about_gpus_are_answered_while_another_thread_waits_for_events(
    opened: Opened, uuids: tuple[GpuUuid, ...]
) -> None:
    opened.events.wait(0)
    opened.machine.make(PAUSES_IN_WAIT)

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(opened.events.wait, 0)
        opened.machine.wait_until_paused()
        assert opened.gpus.vitals(uuids[1]).uncorrectable_ecc == 0
        opened.machine.mend(PAUSES_IN_WAIT)
        opened.machine.resume()
        waiting.result()

    assert len(opened.sessions) == 1


def test_waiting_that_hangs_ends_its_process_and_is_not_asked_again_at_once(opened: Opened) -> None:
    opened.events.wait(0)
    opened.machine.make(HANGS_IN_WAIT)

    with pytest.raises(Unanswered):
        opened.events.wait(5)
    with pytest.raises(TimedOut) as refusal:
        opened.events.wait(5)

    assert "has not answered since" in refusal.value.reason
    assert all(isinstance(gpu, Gpu) for gpu in opened.gpus.gpus())
    assert len(opened.sessions) == 2


def test_waiting_that_hung_is_tried_again_later_in_a_new_session(opened: Opened) -> None:
    opened.events.wait(0)
    opened.machine.make(HANGS_IN_WAIT)
    with pytest.raises(Unanswered):
        opened.events.wait(5)
    opened.sessions[0].process.wait()
    opened.machine.mend(HANGS_IN_WAIT)

    opened.clock.now += LONG_S

    assert opened.events.wait(5).is_new_session
    assert opened.hears("gpu-0:xid=31")


def test_a_gpu_whose_registration_hangs_keeps_no_other_from_being_heard(
    opened: Opened, uuids: tuple[GpuUuid, ...]
) -> None:
    opened.machine.make("hang-nvmlDeviceRegisterEvents-0")

    first = opened.events.wait(0)
    second = opened.events.wait(0)  # the process that hung is gone, and its registrations with it

    assert [one.gpu for one in first.unwatched] == [uuids[0]]
    assert [one.gpu for one in second.unwatched] == [uuids[0]]
    assert second.is_new_session
    assert opened.hears("gpu-1:xid=31")


def test_a_library_that_crashes_while_it_waits_is_loaded_anew(opened: Opened) -> None:
    opened.events.wait(0)
    opened.machine.make("crash-nvmlEventSetWait_v2")

    with pytest.raises(SessionEnded):
        opened.events.wait(5)
    opened.machine.mend("crash-nvmlEventSetWait_v2")

    assert opened.events.wait(5).is_new_session
    assert opened.hears("gpu-0:xid=31")


def test_without_a_driver_nobody_waits(opened: Opened) -> None:
    opened.machine.make("module", "another version")

    with pytest.raises(HardwareError):
        opened.events.wait(LONG_S)
    opened.machine.mend("module")

    assert opened.events.wait(LONG_S).is_new_session


def test_a_lost_gpu_is_still_told_of_in_the_next_session(opened: Opened, uuids: tuple[GpuUuid, ...]) -> None:
    opened.events.wait(0)
    opened.machine.simulated.inject(parse_injected("gpu-1:lost"))

    opened.end(signal.SIGKILL)
    answer = opened.events.wait(0)

    assert [one.gpu for one in answer.unwatched] == [uuids[1]]
    assert opened.hears("gpu-0:xid=31")
