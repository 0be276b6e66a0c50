"""A driver that is not there yet, comes, and goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.hardware.errors import DriverMissing
from agent.hardware.late import LateGpus
from agent.hardware.simulated import SimulatedGpus, SimulatedMachine, load_node, parse_fault
from agent.hardware.types import Gpu


class Session(SimulatedGpus):
    """Simulated GPUs that are opened and closed as a driver is."""

    has_ended = False

    def count(self) -> int:
        return len(self.gpus())

    def gpu(self, index: int) -> Gpu:
        found = self.gpus()[index]
        assert isinstance(found, Gpu)
        return found

    def within(self, longest_s: float) -> Session:
        return self

    def close(self) -> None:
        pass


@pytest.fixture
def machine(tmp_path: Path) -> SimulatedMachine:
    return SimulatedMachine.open(load_node("a100x2"), tmp_path / "machine")


@pytest.fixture
def opener(machine: SimulatedMachine) -> Callable[[], Session]:
    """Open the simulated driver; it fails where the machine was told so."""

    def opened() -> Session:
        session = Session(machine.gpus.calls)
        session.versions()
        return session

    return opened


def test_a_driver_that_comes_later_is_found_by_the_next_question(
    machine: SimulatedMachine, opener: Callable[[], Session]
) -> None:
    machine.inject(parse_fault("machine:versions:driver-missing:1"))
    gpus = LateGpus(opener)

    with pytest.raises(DriverMissing):
        gpus.gpus()

    assert len(gpus.gpus()) == 2


def test_a_driver_that_was_unloaded_is_opened_anew(
    machine: SimulatedMachine, opener: Callable[[], Session]
) -> None:
    openings: list[Session] = []

    def counted() -> Session:
        openings.append(opener())
        return openings[-1]

    gpus = LateGpus(counted)
    gpus.gpus()
    machine.inject(parse_fault("machine:gpus:driver-missing:1"))
    with pytest.raises(DriverMissing):
        gpus.gpus()

    assert len(gpus.gpus()) == 2
    assert len(openings) == 2


def test_an_open_driver_is_asked_as_it_is(machine: SimulatedMachine, opener: Callable[[], Session]) -> None:
    gpus = LateGpus(opener)
    uuid = machine.node.cards[0].uuid

    assert gpus.versions() == machine.gpus.versions()
    assert gpus.minor(uuid) == 0
    assert gpus.profiles(uuid) == machine.gpus.profiles(uuid)
    assert gpus.gpu_instances(uuid) == ()
    assert gpus.mig_mode(uuid) == machine.gpus.mig_mode(uuid)
