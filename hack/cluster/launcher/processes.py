"""Who belongs to a node: read from /proc, inside the cluster's process namespace.

In go process ids; out come process ids. A process that ends while one looks is simply not there.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

_PROC = Path("/proc")


def processes_in_mount_namespace(of: int) -> tuple[int, ...]:
    """Return the processes that share the mount namespace of process ``of``, itself included."""
    wanted = _namespace(of)
    return tuple(pid for pid in _pids() if _namespace(pid) == wanted)


def descendants(of: Iterable[int]) -> tuple[int, ...]:
    """Return all children and children's children of these processes, parents first."""
    children = defaultdict(list)
    for pid in _pids():
        children[_parent(pid)].append(pid)
    found: list[int] = []
    waiting = list(of)
    while waiting:
        below = [child for pid in waiting for child in children[pid] if child not in found]
        found += below
        waiting = below
    return tuple(found)


def _pids() -> Iterator[int]:
    return (int(entry) for entry in os.listdir(_PROC) if entry.isdigit())


def _namespace(pid: int) -> str:
    try:
        return os.readlink(_PROC / str(pid) / "ns" / "mnt")
    except OSError:
        return ""


def _parent(pid: int) -> int:
    try:
        # The name in parentheses may hold anything; the parent's id is the second field after it.
        return int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
