"""A part of the cluster: one program with its log, which can be started, stopped, killed and looked at.

In goes a ``PartSpec``, a value; ``Part`` holds the process. Waiting takes its clock and sleep as arguments
(``Patience``), every wait ends, and what did not become ready says so with the end of its log.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from launcher.errors import PartFailed

_TAIL_LINES = 15
_TAIL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """A clock and a sleep; ``until`` is the only place that waits."""

    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def until(self, condition: Callable[[], bool], limit_s: float, pause_s: float = 0.05) -> bool:
        """Return whether the condition came true in time."""
        end = self.clock() + limit_s
        while not condition():
            if self.clock() >= end:
                return False
            self.sleep(pause_s)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSpec:
    """How a part is started and when it is ready.

    Units: ``limit_s`` is how long it may take; a part that is slower has failed.
    """

    name: str
    argv: tuple[str, ...]
    is_ready: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 60.0


class Part:
    """The process of a spec; a new start may bring another spec, with other flags."""

    def __init__(self, spec: PartSpec, logs: Path) -> None:
        self.spec = spec
        self.log = logs / f"{spec.name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process's id inside the namespaces, None while it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self, spec: PartSpec | None = None) -> None:
        """Start the program, with its log appended; nothing happens while it runs."""
        if self.pid is not None:
            return
        self.spec = spec or self.spec
        with self.log.open("ab") as log:
            # Its own session: an interrupt typed into the shell inside is not for the cluster.
            self._process = subprocess.Popen(
                self.spec.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.spec.environment},
                start_new_session=True,
            )

    def wait_ready(self, patience: Patience) -> None:
        """Wait until the part works.

        Raises: PartFailed with the last lines of its log.
        """
        patience.until(lambda: self.pid is None or self.spec.is_ready(), self.spec.limit_s)
        if self.pid is None:
            status = self._process.returncode if self._process else "never started"
            raise PartFailed(f"cannot start {self.spec.name}: it ended ({status})\n{self.quoted_log()}")
        if not self.spec.is_ready():
            limit = f"{self.spec.limit_s:.0f} s"
            raise PartFailed(f"cannot start {self.spec.name}: not ready after {limit}\n{self.quoted_log()}")

    def ask_to_end(self) -> None:
        """Send SIGTERM and do not wait."""
        if self._process is not None:
            self._process.terminate()

    def stop(self, limit_s: float = 10.0) -> None:
        """Ask the program to end, then kill it: an API server without its etcd does not end for minutes."""
        if self._process is None:
            return
        self.ask_to_end()
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the program with SIGKILL."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def tail(self, lines: int = _TAIL_LINES) -> list[str]:
        """Return the last lines of the log."""
        if not self.log.exists():
            return []
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
            return file.read().decode(errors="replace").splitlines()[-lines:]

    def quoted_log(self) -> str:
        """Return the end of the log as it belongs into a message."""
        return "\n".join((f"the last lines of {self.log.name}:", *(f"  {line}" for line in self.tail())))
