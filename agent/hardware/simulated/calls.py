"""Applies a missing driver, injected faults and lost GPUs to each call of the simulated hardware.

Faults are selected while the machine is locked. Delays, kills and failures happen after it is unlocked, so a
slow GPU does not delay calls to others.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from agent.hardware.driver.nvml_rules import refusal
from agent.hardware.errors import DriverMissing, GpuLost, NotFound
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.faults import (
    NIC_CALLS,
    NIC_REFUSALS,
    NVML_REFUSALS,
    REFUSALS,
    Call,
    Fail,
    Kill,
    Moment,
    NvmlFunction,
)
from agent.hardware.simulated.nics.refused import Refused
from agent.hardware.simulated.schema import Driver
from agent.hardware.simulated.state import State
from agent.hardware.simulated.store import Store
from agent.hardware.simulated.strikes import Blow, is_lost, struck
from agent.hardware.types import GpuUuid

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls to one machine. Units: ``sleep`` takes seconds; a slow call uses it."""

    store: Store
    sleep: Callable[[float], None] = field(repr=False)

    @contextmanager
    def of_machine(self, call: Call, attempted: str) -> Iterator[Driver]:
        """Make a call that concerns no single GPU. Raises: DriverMissing, and injected errors."""
        driver = self._driver(attempted)
        with self._struck(call, None, attempted, f"node {self.store.node.name}"):
            yield driver

    @contextmanager
    def of_gpu(self, call: Call, uuid: GpuUuid, attempted: str) -> Iterator[tuple[Card, State]]:
        """Make a call that reads one GPU. Raises: NotFound, GpuLost, and as above."""
        card = self.card(uuid, attempted)
        with self._struck(call, card.minor, attempted, str(card)) as state:
            _need_presence(card, state, attempted)
            yield card, state

    def ask(self, function: NvmlFunction, card: Card, attempted: str, subject: str = "") -> None:
        """Make a call of a function of NVML about one GPU. Raises: HardwareError, as faults say."""
        with self._struck(function, card.minor, attempted, subject or str(card)):
            pass

    def change(
        self,
        call: Call,
        uuid: GpuUuid,
        attempted: str,
        decide: Callable[[Card, State], tuple[State, _Answer]],
    ) -> _Answer:
        """Make a call that changes one GPU, as ``decide`` says. Raises: as above, and what it raises."""
        card = self.card(uuid, attempted)

        def decide_on_presence(state: State) -> tuple[State, _Answer]:
            _need_presence(card, state, attempted)
            return decide(card, state)

        with self._struck(call, card.minor, attempted, str(card)):
            return self.store.change(decide_on_presence)

    @contextmanager
    def as_it_is(self) -> Iterator[State]:
        """Look something up before a call is made; faults do not count. Raises: OSError."""
        with _kernel_answers():
            yield self.store.read()

    @contextmanager
    def of_nic(self, call: Call, nic: int | None) -> Iterator[State]:
        """Make a call that reads a NIC by number, None for all. Raises: OSError, as faults say."""
        with _kernel_answers(), self._struck(call, nic, "", "") as state:
            yield state

    def change_nic(self, call: Call, nic: int | None, decide: Callable[[State], State]) -> None:
        """Make a call that changes a NIC, as ``decide`` says. Raises: OSError, as it and faults say."""
        with _kernel_answers(), self._struck(call, nic, "", ""):
            self.store.change(lambda state: (decide(state), None))

    def card(self, uuid: GpuUuid, attempted: str) -> Card:
        """Return the GPU with this UUID. Raises: DriverMissing, NotFound."""
        self._driver(attempted)
        for card in self.store.node.cards:
            if card.uuid == uuid:
                return card
        raise NotFound(attempted, f"GPU {uuid}", f"node {self.store.node.name} has no such GPU")

    def _driver(self, attempted: str) -> Driver:
        driver = self.store.node.document.driver
        if driver is None:
            name = self.store.node.name
            raise DriverMissing(attempted, f"node {name}", "the NVIDIA driver is not installed")
        return driver

    @contextmanager
    def _struck(
        self, call: Call | NvmlFunction, number: int | None, attempted: str, subject: str
    ) -> Iterator[State]:
        """Apply the faults of a call around the block: wait, fail or kill; hand out the state for it."""
        state = self.store.read()
        if not state.faults:
            yield state
            return
        blow = self._blow(state, call, number)
        if blow.delay_s:
            self.sleep(blow.delay_s)
        fault = blow.outcome
        if isinstance(fault, Fail):
            if isinstance(fault.call, NvmlFunction):
                raise refusal(attempted, subject, NVML_REFUSALS[fault.error], fault.call)
            if fault.call in NIC_CALLS:
                raise Refused(NIC_REFUSALS[fault.error])
            raise REFUSALS[fault.error](attempted, subject, f"fault {fault} was injected")
        if isinstance(fault, Kill) and fault.moment is Moment.BEFORE:
            _die()
        try:
            yield self.store.read()
        finally:
            if isinstance(fault, Kill):
                _die()

    def _blow(self, state: State, call: Call | NvmlFunction, number: int | None) -> Blow:
        after, blow = struck(state, call, number)
        if after.faults == state.faults:  # none is used up, so there is nothing to write
            return blow
        return self.store.change(lambda latest: struck(latest, call, number))


@contextmanager
def _kernel_answers() -> Iterator[None]:
    try:
        yield
    except Refused as error:
        raise OSError(error.number, os.strerror(error.number)) from error


def _need_presence(card: Card, state: State, attempted: str) -> None:
    if is_lost(state, card.minor):
        raise GpuLost(attempted, str(card), f"the GPU at {card.site.bdf} fell off the bus")


def _die() -> None:
    """End this process like a crash: without cleanup or handlers."""
    os.kill(os.getpid(), signal.SIGKILL)
