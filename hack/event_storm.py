"""A storm of events of the driver: what it costs the agent, and whether the last state is right.

    .venv/bin/python hack/event_storm.py [SECONDS [EVENTS_PER_SECOND]]

The whole agent runs as on a node with a driver, on the machine hgx-h100, beside a script that stands for the
API server. The driver's library is the tests' fake one, whose GPUs raise the events, and a last one. Prints
for the agent and its NVML process the processor time and memory, the writes at the API server, and when the
last event was a taint there. The fake library and its machine are Python in the NVML process, and their time
counts too: a real library takes less.

Exit status: 0, or 1 where a bound is missed or the last state is wrong.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/fakes"))

from fake_nvml.storm import LAST_XID, XIDS  # noqa: E402
from nvml_machine import NvmlMachine  # noqa: E402
from scripted_api import Script, serving  # noqa: E402
from storing_server import StoringServer  # noqa: E402

NODE, GPUS = "hgx-h100", 8
MOST_SHARE, MOST_MIB = 10.0, 90.0
PATIENCE_S = 60.0
START = 1 / 6
"""Which part of the storm is left out of what is measured: the agent loads and publishes then."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used. Units: ``processor_s`` seconds, ``resident_mib`` MiB."""

    processor_s: float
    resident_mib: float

    @classmethod
    def of(cls, pid: int) -> Usage:
        """Return what a process has used so far."""
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        ticks = int(fields[11]) + int(fields[12])
        return cls(ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 2**20)


class Published:
    """The slices as the server has them."""

    def __init__(self, server: StoringServer) -> None:
        self._server = server
        self._slices: dict[str, Mapping[str, Any]] = {}
        self.writes = 0

    def receive(self, longest_s: float) -> None:
        """Take in one write, if one comes in time."""
        try:
            stored = self._server.written.get(timeout=longest_s)
        except Empty:
            return
        self._slices[stored["metadata"]["name"]] = stored
        self.writes += 1

    def taints(self) -> dict[str, set[str]]:
        """Return the taints of whole GPUs, by name."""
        devices = (one for found in self._slices.values() for one in found["spec"].get("devices", ()))
        names = {f"gpu-{number}" for number in range(GPUS)}
        return {
            one["name"]: {f"{taint['key'].partition('/')[2]}={taint['value']}" for taint in one["taints"]}
            for one in devices
            if one["name"] in names and "taints" in one
        }


@contextmanager
def agent_of(machine: NvmlMachine, server: StoringServer, folder: Path, storm: str) -> Iterator[int]:
    """Run an agent until the block ends; the storm begins as soon as it hears events."""
    command = [
        *(sys.executable, "-m", "agent", f"--kubeconfig={server.kubeconfig}", "--node-name=node-1"),
        *(f"--host-root={machine.simulated.root}", f"--kubelet-dir={folder}", "--no-composite"),
    ]
    environment = {**os.environ, **machine.environment, "FAKE_NVML_STORM": storm}
    with subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.DEVNULL) as agent:
        try:
            yield agent.pid
        finally:
            agent.kill()


def processes_of(pid: int) -> dict[str, int]:
    """Return the agent and the processes that it started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = sorted({int(child) for task in tasks for child in (task / "children").read_text().split()})
    return {"the agent": pid, **{f"NVML process {child}": child for child in children}}


def wanted() -> dict[str, set[str]]:
    """Return the taints that the server must have after the storm."""
    every = {f"gpu-{number}": {f"xid-reset={XIDS[-1]}"} for number in range(GPUS)}
    return {**every, "gpu-0": {*every["gpu-0"], f"gpu-lost={LAST_XID}"}}


def measure(pid: int, published: Published, ended: Path, seconds: float) -> bool:
    """Wait for the storm's end, print what it cost, and return whether all bounds were kept."""
    while not published.taints():
        published.receive(PATIENCE_S)
    began = time.monotonic()
    while time.monotonic() - began < START * seconds:
        published.receive(1.0)
    began, writes = time.monotonic(), published.writes
    before = {name: (one, Usage.of(one)) for name, one in processes_of(pid).items()}
    while not ended.exists() and time.monotonic() - began < seconds + PATIENCE_S:
        published.receive(0.2)
    took = time.monotonic() - began
    after = {name: Usage.of(one) for name, (one, _) in before.items()}
    during = published.writes - writes
    while published.taints() != wanted() and time.monotonic() - began < took + PATIENCE_S:
        published.receive(0.2)
    seen_at = time.monotonic()
    at, raised = ended.read_text().split()
    print(f"{raised} events; measured over {took:.1f} s, with {during} writes at the API server")
    share = 0.0
    for name, now in after.items():
        first = before[name][1]
        own = 100 * (now.processor_s - first.processor_s) / took
        share += own
        print(f"{name}: {own:.1f} % of a core, {first.resident_mib:.1f} to {now.resident_mib:.1f} MiB")
    is_right = published.taints() == wanted()
    print(f"together: {share:.1f} % of a core (must be {MOST_SHARE:g} at most)")
    print(
        f"the last event was a taint after {seen_at - float(at):.2f} s, the last state is right: {is_right}"
    )
    return is_right and share <= MOST_SHARE and after["the agent"].resident_mib <= MOST_MIB


def main(seconds: float, per_second: int) -> int:
    """Let a storm come and return the exit status."""
    is_good = False
    with tempfile.TemporaryDirectory() as folder, NvmlMachine.made(NODE, Path(folder)) as machine:
        for script in serving(Script()):  # one: it is closed when the loop goes on
            server = StoringServer(script, Path(folder))
            with agent_of(machine, server, Path(folder) / "kubelet", f"{per_second} {seconds}") as pid:
                is_good = measure(pid, Published(server), machine.troubles / "storm-ended", seconds)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(float((*sys.argv[1:], "60")[0]), int((*sys.argv[2:], "1000")[0])))
