"""Every call through a port of the machine is noted while it lasts; its answers and errors stay the same."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from agent.hardware.errors import NotFound
from plugin.base.in_flight import CallsInFlight
from plugin.machine.watched import watched


class Spy:
    """A port that notes which calls are in flight while it is called."""

    def __init__(self, calls: CallsInFlight) -> None:
        self._calls = calls

    def ask(self, word: str, *, again: str = "") -> tuple[str, ...]:
        """Return the words and what is in flight."""
        return (word, again, *(call.what for call in self._calls.all()))

    def refuse(self) -> None:
        """Raise what hardware raises."""
        raise NotFound("ask", "GPU 9", "there is none")


def test_answers_and_errors_of_a_port_are_those_of_the_hardware(bench: Any, clock: Any) -> None:
    calls = CallsInFlight(clock)
    machine = watched(bench.machine, calls)

    assert machine.gpus.gpus() == bench.machine.gpus.gpus()
    assert (
        machine.readers.nics.default_route_functions() == bench.machine.nics.reader.default_route_functions()
    )
    with pytest.raises(NotFound):
        machine.gpus.minor("GPU-gone")
    assert calls.all() == ()


@pytest.mark.parametrize("port", ["gpus", "pci", "fabric", "mps", "time_slices"])
def test_each_port_of_the_machine_is_watched(bench: Any, clock: Any, port: str) -> None:
    calls = CallsInFlight(clock)
    machine: Any = bench.machine
    object.__setattr__(machine, port, Spy(calls))

    found = getattr(watched(machine, calls), port)

    for _ in range(2):
        assert found.ask("one", again="two")[:2] == ("one", "two")
        assert found.ask("one")[2].startswith("the call ask of ")
    with pytest.raises(NotFound):
        found.refuse()
    assert calls.all() == ()


def test_each_port_of_nics_is_watched(bench: Any, clock: Any) -> None:
    calls = CallsInFlight(clock)
    machine = bench.machine
    for one in fields(machine.nics):
        object.__setattr__(machine.nics, one.name, Spy(calls))

    nics: Any = watched(machine, calls).nics

    for one in fields(nics):
        assert getattr(nics, one.name).ask("one")[2] == "the call ask of the kernel"
