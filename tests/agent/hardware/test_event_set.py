"""A storm of events is counted where it arrives, in bounded memory, and nothing of it is lost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pynvml
import pytest
from fake_nvml import FakeLibrary

from agent.hardware.errors import HardwareFault, NotSupported
from agent.hardware.nvml.events import COLLECTED_S, MOST_KINDS, EventSet
from agent.hardware.ports import Gpus
from agent.hardware.simulated import SimulatedMachine, load_node, parse_injected

STEPS = 10


@pytest.fixture
def machine(tmp_path: Path) -> SimulatedMachine:
    return SimulatedMachine.open(load_node("a100x2"), tmp_path / "machine")


@pytest.fixture
def library(machine: SimulatedMachine, library_over: Callable[[Gpus], FakeLibrary]) -> FakeLibrary:
    return library_over(machine.gpus)


@pytest.fixture
def device(library: FakeLibrary) -> Any:
    return pynvml.nvmlDeviceGetHandleByIndex(0)


def stepping() -> Callable[[], float]:
    """A clock that shows a tenth of the time of collecting more at each look."""
    times = count()
    return lambda: next(times) * COLLECTED_S / STEPS


def no_sleep(seconds: float) -> None:
    """The next look at the clock shows that time has passed."""


@pytest.fixture
def watched(machine: SimulatedMachine, device: Any) -> EventSet:
    events = EventSet(clock=stepping(), sleep=no_sleep)
    events.watch(machine.node.cards[0].uuid, device)
    return events


def test_more_events_are_collected_for_a_moment_and_the_rest_comes_with_the_next_answer(
    machine: SimulatedMachine, watched: EventSet
) -> None:
    machine.inject(parse_injected("gpu-0:xid=13:25"))

    (first,), (second,), (third,) = watched.wait(0), watched.wait(0), watched.wait(0)

    assert [first.times, second.times, third.times] == [STEPS, STEPS, 5]
    assert watched.wait(0) == ()


def test_an_answer_has_so_many_different_events_at_most(
    machine: SimulatedMachine, library: FakeLibrary, device: Any
) -> None:
    events = EventSet(clock=lambda: 0.0, sleep=no_sleep)  # no time passes at all
    events.watch(machine.node.cards[0].uuid, device)
    (event_set,) = library.event_sets.values()
    machine.inject(parse_injected("gpu-0:xid=1"))
    library._fetch(event_set)
    (event,) = event_set.pending
    event_set.pending.clear()
    event_set.pending.extend(
        type(event)(gpu=event.gpu, kind=event.kind, xid=number) for number in range(MOST_KINDS + 1)
    )

    assert len(events.wait(0)) == MOST_KINDS
    assert len(event_set.pending) == 1


def test_what_was_heard_before_an_error_is_told_before_the_error(
    machine: SimulatedMachine, watched: EventSet, library: FakeLibrary
) -> None:
    machine.inject(parse_injected("gpu-0:xid=79"))  # from now on the set answers that a GPU is lost

    (event,) = watched.wait(0)

    assert event.xid == 79
    with pytest.raises(Exception, match="GPU_IS_LOST"):
        watched.wait(0)
    assert library.event_sets == {}


def test_an_error_frees_the_set_and_the_next_registration_makes_another(
    machine: SimulatedMachine, watched: EventSet, library: FakeLibrary, device: Any
) -> None:
    machine.inject(parse_injected("machine:wait-events:hardware-fault:1"))

    with pytest.raises(HardwareFault):
        watched.wait(0)
    assert library.event_sets == {}
    watched.watch(machine.node.cards[0].uuid, device)

    machine.inject(parse_injected("gpu-0:xid=31"))
    assert [event.xid for event in watched.wait(0)] == [31]


def test_a_gpu_that_reports_no_event_of_those_that_are_read_is_not_registered(
    machine: SimulatedMachine, library: FakeLibrary, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_clocks(_: Any, types: Any) -> int:
        types._obj.value = pynvml.nvmlEventTypeClock
        return int(pynvml.NVML_SUCCESS)

    monkeypatch.setattr(library, "nvmlDeviceGetSupportedEventTypes", only_clocks, raising=False)
    pynvml._nvmlGetFunctionPointer_cache.clear()

    with pytest.raises(NotSupported):
        EventSet().watch(machine.node.cards[0].uuid, device)


def test_a_gpu_is_registered_for_what_it_reports_alone(
    machine: SimulatedMachine, library: FakeLibrary, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def xid_and_clocks(_: Any, types: Any) -> int:
        types._obj.value = pynvml.nvmlEventTypeXidCriticalError | pynvml.nvmlEventTypeClock
        return int(pynvml.NVML_SUCCESS)

    monkeypatch.setattr(library, "nvmlDeviceGetSupportedEventTypes", xid_and_clocks, raising=False)
    pynvml._nvmlGetFunctionPointer_cache.clear()
    uuid = machine.node.cards[0].uuid

    EventSet().watch(uuid, device)

    (event_set,) = library.event_sets.values()
    assert event_set.registered == {uuid: pynvml.nvmlEventTypeXidCriticalError}


def test_without_any_registered_gpu_it_waits_and_hears_nothing(library: FakeLibrary) -> None:
    assert EventSet().wait(0) == ()
