"""What procfs says of a process. Takes a procfs and a number; a process that ends meanwhile is no error.

Source: proc_pid_stat(5), proc_pid_cmdline(5), namespaces(7).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from agent.hardware.nvml_program import MODULE, NAME

OWN_PROC: Final = Path("/proc")
"""The procfs of this program's own PID namespace: its process numbers can be given to ``kill``."""
_STATE, _PARENT, _STARTED = 0, 1, 19
_ENDED: Final = frozenset("ZXx")
_PROGRAMS: Final = ("agent", "plugin")


@dataclass(frozen=True, slots=True)
class Process:
    """A process that runs. Units: ``started`` clock ticks since the boot."""

    pid: int
    name: str
    parent: int
    started: int


def read_process(proc: Path, pid: int) -> Process | None:
    """Return a process, None where it has ended or cannot be seen."""
    text = _read(proc / str(pid) / "stat").decode(errors="replace")
    # The name may have any character in it, brackets and line ends, too.
    start, _, rest = text.rpartition(")")
    fields = rest.split()
    if len(fields) <= _STARTED or fields[_STATE] in _ENDED:
        return None
    name = "".join(one if one.isprintable() else "?" for one in start.partition("(")[2])
    return Process(pid, name, int(fields[_PARENT]), int(fields[_STARTED]))


def is_nvml_process(proc: Path, found: Process) -> bool:
    """Whether a process is an NVML process of this driver: by name, program, user and user namespace.

    Anybody can give a process this name. Who can be this user in this namespace could do more than that.
    """
    folder = proc / str(found.pid)
    if found.name != NAME or ("-m", MODULE) not in pairwise(_arguments(folder)):
        return False
    try:
        is_ours = os.stat(folder).st_uid == os.geteuid()
        return is_ours and os.path.samestat(os.stat(folder / "ns/user"), os.stat(OWN_PROC / "self/ns/user"))
    except OSError:
        return False


def program_of(proc: Path, found: Process) -> str:
    """Return the program that started an NVML process, empty where that is unknown."""
    words = _arguments(proc / str(found.parent))
    return next((word for word in words[1:] if word in _PROGRAMS), "")


def _arguments(folder: Path) -> list[str]:
    return _read(folder / "cmdline").decode(errors="replace").split("\0")


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
