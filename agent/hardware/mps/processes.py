"""Which process a daemon's folder names. Takes folders; reads procfs.

A number alone is not enough: after a crash another process may have it. The environment that the process was
started with names the folder, so it decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PID_FILE: Final = "nvidia-cuda-mps-control.pid"
PIPE_VARIABLE: Final = "CUDA_MPS_PIPE_DIRECTORY"


def running_process(proc: Path, pipe: Path) -> int | None:
    """Return the number of the daemon whose pipes are in a folder, None where it does not run."""
    try:
        pid = int((pipe / _PID_FILE).read_text())
    except (OSError, ValueError):
        return None
    return pid if is_daemon(proc, pid, pipe) else None


def is_daemon(proc: Path, pid: int, pipe: Path) -> bool:
    """Whether a process is alive and is the daemon of a folder."""
    try:
        environment = (proc / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    # The environment of a process that has ended and was not collected yet is empty.
    return f"{PIPE_VARIABLE}={pipe}".encode() in environment.split(b"\0")
