"""A storm of events of the driver: what it costs the agent's NVML process, and the program that hears it.

    .venv/bin/python hack/event_storm.py [SECONDS [EVENTS_PER_SECOND]]

Takes the fake library of the tests, on the machine hgx-h100; prints processor time, memory, what was heard.
The fake library is Python, and its time counts too: a real one takes less.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

FAKES = Path(__file__).parents[1] / "tests/fakes"
sys.path.insert(0, str(FAKES))

from nvml_machine import NvmlMachine  # noqa: E402

from agent.hardware.late import LateGpus  # noqa: E402
from agent.hardware.nvml_process.late_events import LateEvents  # noqa: E402
from agent.hardware.nvml_process.process import Interruption  # noqa: E402
from agent.hardware.nvml_process.session import NvmlProcess, NvmlProcesses  # noqa: E402

NODE = "hgx-h100"
LONGEST_S = 5.0


def processor_s(pid: int) -> float:
    """Return the processor time that a process has used. Units: seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process. Units: MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(seconds: float, per_second: int) -> None:
    """Hear a storm and print what it costs."""
    with tempfile.TemporaryDirectory() as folder, NvmlMachine.made(NODE, Path(folder)) as machine:
        os.environ.update(machine.environment, FAKE_NVML_STORM=str(per_second))
        sessions: list[NvmlProcess] = []
        processes = NvmlProcesses(Interruption())

        def opened() -> NvmlProcess:
            sessions.append(processes.open())
            return sessions[-1]

        gpus = LateGpus(opened)
        events = LateEvents(gpus)
        events.wait(0)
        events.wait(LONGEST_S)
        pids = {"NVML process": sessions[0].process.pid, "program": os.getpid()}
        before = {name: (processor_s(pid), resident_mib(pid)) for name, pid in pids.items()}
        began, answers, heard, most = time.monotonic(), 0, 0, 0
        while (took := time.monotonic() - began) < seconds:
            came = events.wait(LONGEST_S).events
            answers, heard, most = answers + 1, heard + sum(one.times for one in came), max(most, len(came))
        print(
            f"{took:.1f} s, {heard} events ({heard / took:.0f}/s) in {answers} answers, {most} values at most"
        )
        for name, pid in pids.items():
            used, first_mib = processor_s(pid) - before[name][0], before[name][1]
            print(
                f"{name}: {100 * used / took:.1f} % of a core, {first_mib:.1f} to {resident_mib(pid):.1f} MiB"
            )
        gpus.close()


if __name__ == "__main__":
    main(float((*sys.argv[1:], "60")[0]), int((*sys.argv[2:], "1000")[0]))
