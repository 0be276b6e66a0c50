"""Which processes have a device node open, by the links in procfs. Source: proc_pid_fd(5).

Bounded, since any program of the node may have any number of files open; processes that end meanwhile are
passed over.
"""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path
from typing import Final

_MOST_PROCESSES: Final = 32_768
_MOST_FILES: Final = 4_096
"""Of one process: a program opens its GPUs before anything that it has more of."""
_MEMORY_DEVICES: Final = 1
"""The major number of /dev/null, copies of which stand for the GPUs of simulated machines."""
_DELETED: Final = " (deleted)"


def processes_with(proc: Path, node: Path) -> tuple[frozenset[int], bool]:
    """Return the processes that have a device node open, and whether all could be looked at.

    A container has a node of its own for the same device, so the name and the device's number count.
    """
    try:
        wanted = os.stat(node)
        listed = [int(name) for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return frozenset(), False
    found, is_complete = set(), len(listed) <= _MOST_PROCESSES
    for pid in listed[:_MOST_PROCESSES]:
        try:
            if _has_open(f"{proc}/{pid}/fd", node.name, wanted):
                found.add(pid)
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
        except OSError:
            is_complete = False
    return frozenset(found), is_complete


def _has_open(folder: str, name: str, wanted: os.stat_result) -> bool:
    """Whether one of the links is to the node. Raises: OSError."""
    with os.scandir(folder) as entries:
        return any(_is_link_to(entry.path, name, wanted) for entry in islice(entries, _MOST_FILES))


def _is_link_to(link: str, name: str, wanted: os.stat_result) -> bool:
    try:
        target = os.readlink(link).removesuffix(_DELETED)
        return target.rpartition("/")[2] == name and _is_same_device(os.stat(link), wanted)
    except (FileNotFoundError, ProcessLookupError):  # it was closed
        return False


def _is_same_device(found: os.stat_result, wanted: os.stat_result) -> bool:
    if os.path.samestat(found, wanted):
        return True
    is_device = stat.S_ISCHR(found.st_mode) and found.st_rdev == wanted.st_rdev
    return is_device and stat.S_ISCHR(wanted.st_mode) and os.major(found.st_rdev) != _MEMORY_DEVICES
