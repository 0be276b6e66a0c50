"""The agent as a program: GPUs that fail at once cost the API server one write of each slice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from scripted_api import Script, serving
from storing_server import StoringServer

from agent.hardware.simulated import SimulatedMachine, parse_injected

GPUS = 8
RAISED_AGAIN_S = 2.0
FIRST_XID, XID = "120", "119"


class Site:
    """An agent of a machine with eight GPUs, and the server that stores its slices.

    Shape: ``slices`` as they were stored last, by name; ``writes`` how often each was written.
    """

    def __init__(self, server: StoringServer, folder: Path) -> None:
        self._server, self._folder = server, folder
        self.slices: dict[str, Any] = {}
        self.writes: Counter[str] = Counter()
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "agent", f"--kubeconfig={server.kubeconfig}", "--node-name=node-1"),
                *("--simulated=dgx-a100", f"--machine={folder}", "--no-composite"),
            ],
            stderr=subprocess.DEVNULL,
        )

    def receive(self, timeout_s: float) -> None:
        """Wait for a write. Raises: Empty."""
        stored = self._server.written.get(timeout=timeout_s)
        name = stored["metadata"]["name"]
        self.slices[name] = stored
        self.writes[name] += 1

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self.receive(60.0)

    def inject(self, *faults: str) -> None:
        SimulatedMachine.attach(self._folder).inject(*map(parse_injected, faults))

    def wait_until_published(self) -> None:
        self.wait_until(
            lambda: any(
                one["spec"]["pool"]["resourceSliceCount"] == len(self.slices) for one in self.slices.values()
            )
        )

    def wait_until_events_are_heard(self) -> None:
        """Raise events until one is heard: those from before the agent listened are not."""
        while not self.say(FIRST_XID, 0):
            self.inject(f"gpu-0:xid={FIRST_XID}")
            with suppress(Empty):
                self.receive(RAISED_AGAIN_S)

    def say(self, text: str, *gpus: int) -> bool:
        """Whether the taints of GPUs say something."""
        devices = {one["name"]: one for found in self.slices.values() for one in _devices(found)}
        return all(text in str(devices[f"gpu-{number}"].get("taints")) for number in gpus)

    def slice_of(self, device: str) -> str:
        (name,) = (
            name
            for name, found in self.slices.items()
            if any(one["name"] == device for one in _devices(found))
        )
        return name


def _devices(found: Any) -> Any:
    return found["spec"].get("devices", ())


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    for server in serving(Script()):
        found = Site(StoringServer(server, tmp_path), tmp_path / "machine")
        try:
            yield found
        finally:
            found.process.kill()
            found.process.wait()


def test_eight_gpus_that_fail_at_once_cost_at_most_one_write_of_each_slice(site: Site) -> None:
    site.wait_until_published()
    site.wait_until_events_are_heard()
    site.writes.clear()

    site.inject(*(f"gpu-{number}:xid={XID}" for number in range(GPUS)))
    site.wait_until(lambda: site.say(XID, *range(GPUS)))
    site.inject("gpu-0:recovery=gpu-reset")  # what comes next: all writes before it have come by then
    site.wait_until(lambda: site.say("recovery-needed", 0))

    assert set((site.writes - Counter([site.slice_of("gpu-0")])).values()) == {1}
