"""A cluster's own cgroup, where the machine lets one be made: containers' groups lie below it and go with it.

In goes the cluster's folder, whose name the group has; out come a path or nothing. Our own processes stay
where they are: a group that holds processes cannot give controllers to groups below it.
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_NEEDED = ("cpu", "memory", "pids")


def make_own(folder: Path, root: Path = ROOT) -> bool:
    """Make the cluster's group with the controllers that containers need; tell whether there is one now."""
    if not are_writable(root):
        return False
    own = root / folder.name
    try:
        own.mkdir()
        (own / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _NEEDED))
    except OSError:
        remove_own(folder, root)
        return False
    return True


def own_group(folder: Path, root: Path = ROOT) -> Path | None:
    """Return the cluster's group, None where there is none."""
    own = root / folder.name
    return own if own.is_dir() else None


def remove_own(folder: Path, root: Path = ROOT) -> None:
    """Remove the cluster's group and all below it, as far as nothing lives there any more."""
    for path, _, _ in os.walk(root / folder.name, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def device_filters_can_be_loaded() -> bool:
    """Tell whether a runtime may do what it does before it loads a group's device filter: lock memory."""
    before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_MEMLOCK, before)
    except (OSError, ValueError):
        return False
    return True


def are_writable(root: Path) -> bool:
    """Tell whether this is a plain cgroup2 tree that hands the needed controllers down, and ours to write."""
    given = root / "cgroup.subtree_control"
    return given.exists() and set(_NEEDED) <= set(given.read_text().split()) and os.access(root, os.W_OK)
