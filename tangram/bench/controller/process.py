"""The controller as a process of its own, and what it takes of the machine."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from tangram.errors import BadInput

_READY_S: Final = 300.0
_LOOK_S: Final = 0.2
_END_S: Final = 20.0
_KIB: Final = 1024


@dataclass(frozen=True, slots=True)
class Running:
    """A controller that leads. Units: ``ready_s`` seconds from its start until it was ready."""

    process: subprocess.Popen[bytes]
    ready_s: float

    def most_mib(self) -> float:
        """Return the most memory that it has had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / _KIB


@contextmanager
def controller(
    kubeconfig: str | None,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    decisions: Path | None = None,
) -> Iterator[Running]:
    """Run a controller while the block is open.

    Shape:  ``decisions`` is the file to which it writes its decisions, None for none.
    Raises: BadInput where it ends or is not ready in time.
    """
    with tempfile.TemporaryDirectory() as folder:
        socket, log = Path(folder, "probes"), Path(folder, "log")
        command = [sys.executable, "-m", "controller", f"--probe-socket={socket}", "--namespace=default"]
        command += [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
        command += [f"--decisions={decisions}"] if decisions else []
        began = clock()
        with log.open("wb") as output:
            process = subprocess.Popen(command, stderr=output)  # noqa: S603 - our own program
        try:
            ready_s = 0.0
            while not _asked(socket, "/metrics", "\ntangram_controller_leader 1.0\n"):
                if process.poll() is not None or clock() - began > _READY_S:
                    raise BadInput(f"the controller did not get ready: {log.read_text()[-2000:]}")
                if not ready_s and _asked(socket, "/readyz"):
                    ready_s = clock() - began
                sleep(_LOOK_S)
            yield Running(process, ready_s or clock() - began)
        finally:
            process.terminate()
            process.wait(_END_S)


def _asked(socket: Path, path: str, wanted: str = "") -> bool:
    """Whether the controller answers on a path, and says what is wanted."""
    command = [sys.executable, "-m", "agent.probe", str(socket), path]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    return answer.returncode == 0 and wanted in answer.stdout
