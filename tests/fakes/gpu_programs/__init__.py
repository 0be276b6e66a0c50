"""Programs that use GPUs of a simulated machine, and what else tests start as programs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

CLIENT = """
import os
import sys
from pathlib import Path
from agent.hardware.simulated import SimulatedMachine

folder, number, *names = sys.argv[1:]
machine = SimulatedMachine.attach(Path(folder))
while len(names) > 1 and os.fork():
    names.pop()
Path("/proc/self/comm").write_text(names[-1])
with machine.client(machine.node.cards[int(number)].uuid):
    os.write(1, f"{os.getpid()} {names[-1]}\\n".encode())
    sys.stdin.read()
"""
"""A process for each name, on a GPU; they end when their input does."""

DAEMON = """
import subprocess
import sys

sys.exit(subprocess.call([sys.executable, "-c", *sys.argv[1:]]))
"""
"""A process that starts another one, as an MPS daemon starts its server."""

Started = Callable[..., subprocess.Popen[str]]


@contextmanager
def programs() -> Iterator[Started]:
    """Start Python programs in the block; they end when their input does, with the block."""
    with ExitStack() as running:

        def start(program: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-c", program, *map(str, arguments)],
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            running.enter_context(process)
            return process

        yield start


def said(process: subprocess.Popen[str]) -> str:
    """Return the next line that a program says."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def ended(process: subprocess.Popen[str]) -> None:
    """End a program that ends when its input does."""
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
