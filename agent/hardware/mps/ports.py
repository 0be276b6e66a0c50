"""The port through which control daemons of MPS are started, asked and ended.

A daemon has a name, which is that of its folder. Its name comes from the UUID of the one device that it
serves. Source: NVIDIA, "Multi-Process Service", the control daemon and its environment variables.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class MpsFolders:
    """The folders of one daemon, as this process and the host name them.

    Shape: ``pipe`` where programs find the daemon; ``shared_memory`` what they have as ``/dev/shm``.
    """

    root: Path

    @property
    def pipe(self) -> Path:
        """Return the folder of the daemon's sockets."""
        return self.root / "pipe"

    @property
    def log(self) -> Path:
        """Return the folder of ``control.log`` and ``server.log``."""
        return self.root / "log"

    @property
    def shared_memory(self) -> Path:
        """Return the folder that the daemon and its programs have in common."""
        return self.root / "shm"


@dataclass(frozen=True, slots=True)
class MpsLimits:
    """What each program may use of the device. Units: percent of the multiprocessors; MiB."""

    active_thread_percentage: int | None = None
    memory_mib: int | None = None


def daemon_name(device: str) -> str:
    """Return the name of the daemon of a GPU or MIG device, by its UUID.

    It is short, because paths of sockets are limited to 107 bytes.
    """
    return hashlib.blake2b(device.encode(), digest_size=6).hexdigest()


class MpsReader(Protocol):
    """Looks at daemons."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all daemons that have a folder."""
        ...

    def folders(self, name: str) -> MpsFolders:
        """Return where the folders of a daemon are, or will be."""
        ...

    def is_running(self, name: str) -> bool:
        """Whether the process that the daemon's folder names is alive, and is this daemon."""
        ...

    def process(self, name: str) -> int | None:
        """Return the number of that process, None where the daemon does not run."""
        ...

    def answers(self, name: str) -> bool:
        """Whether the daemon answers a command. Raises: NotFound where its program does not exist."""
        ...


class MpsControl(MpsReader, Protocol):
    """Starts and ends daemons. The caller locks the GPU."""

    def start_daemon(self, name: str, device: str) -> None:
        """Start a daemon for a device and return when it answers. Its folders are made.

        Raises: NotFound without the driver's program; HardwareFault, with what the program says; TimedOut.
        """
        ...

    def limit_programs(self, name: str, limits: MpsLimits, device: str) -> None:
        """Limit every program that will use the daemon. Raises: HardwareFault where it does not obey."""
        ...

    def end_daemon(self, name: str) -> None:
        """End a daemon, if it runs, and return when it has ended: asked first, then by force.

        Raises: TimedOut where it goes on.
        """
        ...

    def remove_folders(self, name: str) -> None:
        """Remove the folders of a daemon that does not run. Raises: HardwareFault."""
        ...
