"""NVML in a process of its own: what hangs, crashes or is outdated in it ends with that process."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from nvml_machine import NvmlMachine

from agent.hardware.errors import (
    DriverLetGo,
    DriverMissing,
    GivenUp,
    HardwareFault,
    NotFound,
    SessionEnded,
    TimedOut,
    Unanswered,
)
from agent.hardware.late import LateGpus
from agent.hardware.nvml_process.process import Interruption
from agent.hardware.nvml_process.session import LET_GO_S, NvmlProcess, NvmlProcesses
from agent.hardware.types import Gpu, GpuUuid, Unreadable

HANGS_IN_GPU_1 = "hang-nvmlDeviceGetHandleByIndex_v2-1"
HANGS_AT_THE_START = "hang-nvmlInitWithFlags"


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Opened:
    """The GPUs of a machine as programs open them, with the processes that were started for them."""

    machine: NvmlMachine
    clock: Clock = field(default_factory=Clock)
    interruption: Interruption = field(default_factory=Interruption)
    sessions: list[NvmlProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        processes = NvmlProcesses(self.interruption, clock=self.clock, wait=self.machine.wait)

        def opened() -> NvmlProcess:
            self.sessions.append(processes.open())
            return self.sessions[-1]

        self.gpus = LateGpus(opened, clock=self.clock, wall_clock=lambda: 1_800_000_000.0)

    def end(self, number: signal.Signals) -> None:
        """Send the present process a signal and return once it is gone."""
        os.kill(self.sessions[-1].process.pid, number)
        self.wait_for_end()

    def wait_for_end(self) -> None:
        self.sessions[-1].process.wait()


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


def test_a_gpu_whose_driver_hangs_keeps_no_other_from_being_read(opened: Opened) -> None:
    opened.machine.make(HANGS_IN_GPU_1)

    well, hung = opened.gpus.gpus()

    assert isinstance(well, Gpu)
    assert isinstance(hung, Unreadable)
    assert "read on GPU 1 failed: NVML has not answered within 20 s" in hung.reason


def test_a_gpu_behind_one_that_hangs_is_read_by_a_new_process(opened: Opened) -> None:
    opened.machine.make("hang-nvmlDeviceGetHandleByIndex_v2-0")

    hung, well = opened.gpus.gpus()

    assert (type(hung), type(well)) == (Unreadable, Gpu)
    assert len({session.process.pid for session in opened.sessions}) == 2
    opened.sessions[0].process.wait()


def test_what_is_known_to_hang_is_not_asked_again_at_once_and_says_since_when(opened: Opened) -> None:
    opened.machine.make(HANGS_IN_GPU_1)
    opened.gpus.gpus()
    opened.machine.mend(HANGS_IN_GPU_1)

    texts = {opened.gpus.gpus()[1] for _ in range(3)}

    (text,) = texts  # one text for all that time: nobody is told the same again in other words
    assert isinstance(text, Unreadable)
    assert "the driver has not answered since 2027-01-15 08:00:00 UTC" in text.reason


def test_what_hung_is_asked_again_after_a_while_and_is_back(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    opened.machine.make(HANGS_IN_GPU_1)
    opened.gpus.gpus()
    opened.machine.mend(HANGS_IN_GPU_1)
    opened.clock.now += 15
    opened.wait_for_end()

    assert all(isinstance(gpu, Gpu) for gpu in opened.gpus.gpus())
    assert "the driver answers again about GPU 1" in caplog.text


def test_calls_about_other_gpus_are_answered_while_one_hangs(
    opened: Opened, uuids: tuple[GpuUuid, ...]
) -> None:
    opened.gpus.gpus()
    opened.machine.make("hang-nvmlDeviceGetMinorNumber-1")
    session = opened.sessions[-1].process

    with ThreadPoolExecutor() as pool:
        hung = pool.submit(opened.gpus.minor, uuids[1])
        opened.machine.wait_until_hung()
        assert opened.gpus.minor(uuids[0]) == 0
        assert not hung.done()
        os.kill(session.pid, signal.SIGKILL)
        with pytest.raises(SessionEnded, match="its process ended by signal 9"):
            hung.result()


def test_a_driver_that_hangs_when_it_is_opened_is_not_opened_again_at_once(opened: Opened) -> None:
    opened.machine.make(HANGS_AT_THE_START)

    with pytest.raises(Unanswered, match="open NVML on this node failed: NVML has not answered within 60 s"):
        opened.gpus.gpus()
    with pytest.raises(TimedOut, match="the driver has not answered since"):
        opened.gpus.gpus()

    opened.machine.mend(HANGS_AT_THE_START)
    opened.clock.now += 15
    for reader in threading.enumerate():
        if reader.name == "nvml":  # ends with its process
            reader.join()
    assert len(opened.gpus.gpus()) == 2


def test_the_end_of_the_program_ends_the_waiting_for_a_driver_that_hangs(opened: Opened) -> None:
    opened.machine.make(HANGS_AT_THE_START)

    processes = NvmlProcesses(opened.interruption)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(processes.open)
        opened.machine.wait_until_hung()
        opened.interruption.come()
        with pytest.raises(GivenUp, match="the program ends"):
            waiting.result()
    with pytest.raises(GivenUp):
        processes.open()


def test_a_library_that_crashes_ends_its_process_and_no_other(
    opened: Opened, uuids: tuple[GpuUuid, ...]
) -> None:
    opened.machine.make("crash-nvmlDeviceGetMinorNumber-1")

    with pytest.raises(SessionEnded, match="its process ended by signal 11; it is retried"):
        opened.gpus.minor(uuids[1])

    assert opened.gpus.minor(uuids[0]) == 0
    well, crashed = opened.gpus.gpus()
    assert (type(well), type(crashed)) == (Gpu, Unreadable)


def test_a_process_that_died_meanwhile_is_replaced_and_no_call_notices(opened: Opened) -> None:
    opened.gpus.gpus()

    opened.end(signal.SIGKILL)

    assert len(opened.gpus.gpus()) == 2
    assert len(opened.sessions) == 2


def test_whoever_asks_for_it_has_the_driver_for_himself_for_a_while(opened: Opened) -> None:
    opened.gpus.gpus()

    opened.end(signal.SIGTERM)

    with pytest.raises(DriverLetGo, match="asked to let go of the driver less than 30 s ago"):
        opened.gpus.gpus()
    assert len(opened.sessions) == 1
    opened.clock.now += LET_GO_S
    assert len(opened.gpus.gpus()) == 2


def test_whoever_waits_for_an_answer_when_the_driver_is_let_go_is_told_so(
    opened: Opened, uuids: tuple[GpuUuid, ...]
) -> None:
    opened.gpus.gpus()
    opened.machine.make("hang-nvmlDeviceGetMinorNumber-0")

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(opened.gpus.minor, uuids[0])
        opened.machine.wait_until_hung()
        opened.end(signal.SIGTERM)
        with pytest.raises(DriverLetGo):
            waiting.result()


def test_a_library_that_was_replaced_under_us_is_loaded_anew(opened: Opened) -> None:
    opened.machine.make("library", "560.35.03")
    opened.machine.make("module", "570.10.01")  # an upgrade in place, between its two steps

    with pytest.raises(DriverMissing, match="LIB_RM_VERSION_MISMATCH"):
        opened.gpus.gpus()
    opened.machine.make("library", "570.10.01")

    assert len(opened.gpus.gpus()) == 2


def test_a_driver_that_was_upgraded_while_it_was_let_go_is_the_new_one(opened: Opened) -> None:
    for what in ("library", "module"):
        opened.machine.make(what, "560.35.03")
    opened.gpus.gpus()

    opened.end(signal.SIGTERM)
    for what in ("library", "module"):
        opened.machine.make(what, "570.10.01")
    opened.clock.now += LET_GO_S

    assert len(opened.gpus.gpus()) == 2


def test_a_refusal_keeps_its_class_and_its_fields(opened: Opened) -> None:
    nobody = GpuUuid("GPU-00000000-0000-0000-0000-000000000000")

    with pytest.raises(NotFound) as refusal:
        opened.gpus.minor(nobody)

    assert (refusal.value.attempted, refusal.value.subject) == ("find", f"GPU {nobody}")
    assert "NOT_FOUND" in refusal.value.reason


def test_an_answer_that_is_no_text_is_a_fault_of_one_gpu(opened: Opened) -> None:
    opened.machine.make("odd-nvmlDeviceGetName-1")

    well, odd = opened.gpus.gpus()

    assert isinstance(well, Gpu)
    assert isinstance(odd, Unreadable)
    assert "read name on GPU 1" in odd.reason
    assert "NVML answered text that is not UTF-8: byte 0" in odd.reason
    assert len(opened.sessions) == 1


@pytest.fixture
def without_a_driver(machine: NvmlMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """NVML processes find no library, as on a node without GPUs."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has a driver")
    monkeypatch.delenv("FAKE_NVML_NODE")


@pytest.mark.usefixtures("without_a_driver")
def test_on_a_node_without_a_driver_one_process_is_started_and_no_more(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **b: (started.append(a), start(*a, **b))[1])

    reasons = set()
    for _ in range(3):
        with pytest.raises(DriverMissing, match="LIBRARY_NOT_FOUND") as refusal:
            opened.gpus.gpus()
        reasons.add(str(refusal.value))

    assert len(started) == len(reasons) == 1


@pytest.mark.usefixtures("without_a_driver")
def test_a_library_that_comes_later_is_found_by_the_next_call(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DriverMissing):
        opened.gpus.gpus()
    opened.machine.enter(monkeypatch)
    monkeypatch.setattr("agent.hardware.nvml_process.session._LIBRARY", "libc.so.6")  # any that is there

    assert len(opened.gpus.gpus()) == 2


PARENT = """
import os, sys
from agent.hardware.nvml_process.process import Interruption
from agent.hardware.nvml_process.session import NvmlProcesses
session = NvmlProcesses(Interruption()).open()
print(session.process.pid, flush=True)
sys.stdin.read()
"""


def test_no_process_is_left_behind_by_a_program_that_is_killed(
    machine: NvmlMachine, ended: Callable[[int], None]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()

    ended(child)


@pytest.fixture
def ended() -> Callable[[int], None]:
    """Wait until the process of a descriptor has ended."""

    def wait(process: int) -> None:
        try:
            assert select.select([process], [], [], 60)[0]
        finally:
            os.close(process)

    return wait


def test_the_process_can_be_found_by_its_name(opened: Opened) -> None:
    opened.gpus.gpus()

    name = Path(f"/proc/{opened.sessions[-1].process.pid}/comm").read_text()

    assert name == "tangram-nvml\n"


def test_without_a_process_more_nothing_is_known_and_the_reason_is_told(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refused)

    with pytest.raises(HardwareFault, match=r"start a process for NVML on this node failed: .*unavailable"):
        opened.gpus.gpus()
