"""A simulated machine whose driver's library is loaded in NVML processes, and what can go wrong in it."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

import pytest

from agent.hardware.simulated import SimulatedMachine, load_node

FAKES = Path(__file__).parents[1]


@dataclass(frozen=True)
class NvmlMachine:
    """Shape: ``environment`` what programs must have in theirs to see it; ``hung`` and ``paused`` FIFOs."""

    simulated: SimulatedMachine
    troubles: Path
    environment: Mapping[str, str]
    hung: int
    paused: int

    @classmethod
    @contextmanager
    def made(cls, name: str, folder: Path) -> Iterator[NvmlMachine]:
        """Make a shipped machine below a folder."""
        simulated = SimulatedMachine.open(load_node(name), folder / "machine")
        troubles = folder / "troubles"
        troubles.mkdir()
        for fifo in ("hung", "paused", "resume"):
            os.mkfifo(troubles / fifo)
        hung, paused = (os.open(troubles / fifo, os.O_RDONLY | os.O_NONBLOCK) for fifo in ("hung", "paused"))
        environment = {
            "PYTHONPATH": os.pathsep.join((str(FAKES / "nvml_site"), str(FAKES))),
            "FAKE_NVML_NODE": name,
            "FAKE_NVML_MACHINE": str(folder / "machine"),
            "FAKE_NVML_TROUBLES": str(troubles),
        }
        try:
            yield cls(simulated, troubles, environment, hung, paused)
        finally:
            os.close(hung)
            os.close(paused)

    def enter(self, patch: pytest.MonkeyPatch) -> None:
        """Let the NVML processes that are started from now on see the machine."""
        for name, value in self.environment.items():
            patch.setenv(name, value)

    def make(self, trouble: str, text: str = "") -> None:
        """Let the library have a trouble from now on."""
        (self.troubles / trouble).write_text(text)

    def mend(self, trouble: str) -> None:
        """Take a trouble away."""
        (self.troubles / trouble).unlink()

    def wait_until_hung(self) -> None:
        """Return once a call hangs, and forget that it does."""
        select.select([self.hung], [], [])
        os.read(self.hung, 1)

    def wait_until_paused(self) -> None:
        """Return once a call waits to go on."""
        select.select([self.paused], [], [])
        os.read(self.paused, 1)

    def resume(self) -> None:
        """Let the call that waits go on."""
        os.close(os.open(self.troubles / "resume", os.O_WRONLY))

    def wait(self, inbox: Any, longest_s: float) -> Any:
        """Wait for an answer as an NVML process is waited for; the time is over as soon as the call hangs."""
        while True:
            try:
                return inbox.get(timeout=0.02)
            except Empty:
                if select.select([self.hung], [], [], 0)[0] and os.read(self.hung, 1):
                    raise
