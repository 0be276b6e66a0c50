"""The memory that a daemon and its programs have in common as ``/dev/shm``.

On a real machine it is a file system in memory of its own, so that programs see nothing of the host's. What
they write there counts as memory of their pods. A simulated machine has a plain folder.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.hardware.errors import HardwareFault

_OPTIONS: Final = "size=50%,nosuid,nodev,mode=1777"
_FOR_ALL: Final = 0o1777


@dataclass(frozen=True, slots=True)
class MountedMemory:
    """Common memory of at most half the machine's, as the kernel's default is."""

    def make(self, folder: Path) -> None:
        """Mount it, unless it is mounted. Raises: HardwareFault."""
        folder.mkdir(exist_ok=True)
        if not os.path.ismount(folder):
            _run("mount", folder, ["mount", "-t", "tmpfs", "-o", _OPTIONS, "tangram-mps", str(folder)])

    def remove(self, folder: Path) -> None:
        """Unmount it, if it is mounted. Raises: HardwareFault."""
        if os.path.ismount(folder):
            _run("unmount", folder, ["umount", "--lazy", str(folder)])

    def bound(self, folder: Path) -> Path | None:
        """Return what the daemon gets over ``/dev/shm``."""
        return folder


@dataclass(frozen=True, slots=True)
class PlainFolder:
    """The common folder of a simulated machine, whose programs use no memory."""

    def make(self, folder: Path) -> None:
        """Make it."""
        folder.mkdir(exist_ok=True)
        folder.chmod(_FOR_ALL)

    def remove(self, folder: Path) -> None:
        """Do nothing: it goes with the daemon's folder."""

    def bound(self, folder: Path) -> Path | None:  # noqa: ARG002
        """Return None: the program of a simulated machine needs none."""
        return None


SharedMemory = MountedMemory | PlainFolder


def _run(attempted: str, folder: Path, command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    except OSError as error:
        raise HardwareFault(attempted, str(folder), str(error)) from error
    if done.returncode:
        raise HardwareFault(attempted, str(folder), done.stderr.strip() or f"status {done.returncode}")
