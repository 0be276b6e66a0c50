"""Every adapter that tells of health, over one machine: simulated, NVML, and NVML in its own process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from nvml_machine import NvmlMachine

from agent.hardware.errors import HardwareFault
from agent.hardware.health.ports import GpuEventSource
from agent.hardware.late import LateGpus
from agent.hardware.nvml import Nvml
from agent.hardware.nvml.events import COLLECTED_S, EventSet
from agent.hardware.nvml_process.late_events import LateEvents
from agent.hardware.nvml_process.process import Interruption
from agent.hardware.nvml_process.session import NvmlProcesses
from agent.hardware.ports import Gpus
from agent.hardware.simulated import SimulatedMachine, parse_injected
from agent.hardware.types import GpuUuid

ADAPTERS = ("simulated", "nvml", "nvml in a process")
LONG_S = 3600.0


class Session(Nvml):
    """An open NVML in this process, as what opens sessions sees it. It collects for ten looks at a clock."""

    has_ended = False

    def __init__(self) -> None:
        super().__init__()
        looks = count()
        self._events = EventSet(clock=lambda: next(looks) * COLLECTED_S / 10, sleep=lambda _: None)


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NvmlMachine]:
    """The machine that the test file names."""
    with NvmlMachine.made(request.module.NODE, tmp_path_factory.mktemp("machine")) as made:
        yield made


@pytest.fixture(scope="module")
def in_process(made: NvmlMachine) -> Iterator[LateGpus]:
    """The adapter in a process of its own."""
    gpus = LateGpus(NvmlProcesses(Interruption()).open)
    with pytest.MonkeyPatch.context() as patch:
        made.enter(patch)
        gpus.versions()
    yield gpus
    gpus.close()


@pytest.fixture
def machine(made: NvmlMachine) -> Iterator[SimulatedMachine]:
    """The machine, without faults."""
    yield made.simulated
    made.simulated.clear_faults()


@pytest.fixture
def uuid(machine: SimulatedMachine) -> GpuUuid:
    return machine.node.cards[0].uuid


@pytest.fixture(params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def gpus(
    request: pytest.FixtureRequest,
    adapter: str,
    machine: SimulatedMachine,
    library_over: Callable[[Gpus], object],
) -> Iterator[LateGpus | None]:
    """What opens sessions with the driver; None for the simulated driver, which needs none."""
    if adapter == "simulated":
        yield None
    elif adapter == "nvml":
        library_over(machine.gpus)
        late = LateGpus(Session.open)
        yield late
        late.close()
    else:
        yield request.getfixturevalue("in_process")


@pytest.fixture
def hardware(gpus: LateGpus | None, machine: SimulatedMachine) -> Gpus:
    return machine.gpus if gpus is None else gpus


@pytest.fixture
def now() -> list[float]:
    """The time of the source's clock, in seconds."""
    return [0.0]


@pytest.fixture
def later(now: list[float]) -> Callable[[], None]:
    """Let much time pass."""

    def pass_time() -> None:
        now[0] += LONG_S

    return pass_time


@pytest.fixture
def fresh_source(gpus: LateGpus | None, machine: SimulatedMachine, now: list[float]) -> GpuEventSource:
    """What hears events, not asked yet. Nothing is registered: an error ended what the test before had."""
    if gpus is None:
        return machine.events()
    machine.inject(parse_injected("machine:wait-events:hardware-fault:1"))
    with pytest.raises(HardwareFault):
        gpus.ask("events", lambda driver: driver.wait_events(0))
    return LateEvents(gpus, clock=lambda: now[0])


@pytest.fixture
def source(fresh_source: GpuEventSource) -> GpuEventSource:
    """What hears events, asked once."""
    fresh_source.wait(0)
    return fresh_source
