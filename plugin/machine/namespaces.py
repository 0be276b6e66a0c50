"""Network namespaces of pods: what identifies one, and through which file it can still be entered.

Reads ``/proc`` and ``/run/netns`` of the host. A namespace outlives the container through which it was found,
since the pod's sandbox holds it; so it is looked for by its identity.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from plugin.base.errors import ClaimUnusable, NotReady

_OF_PROCESS: Final = "ns/net"
_OWN: Final = Path("/proc/self/ns/net")
_PINNED: Final = "run/netns"
_ATTEMPTED: Final = "bring into a pod"


@dataclass(frozen=True, slots=True)
class PodNamespace:
    """A pod's network namespace. Shape: ``identity`` is device and inode of ``path``: ``4:4026532``."""

    path: Path
    identity: str

    @classmethod
    def at(cls, path: Path) -> Self | None:
        """Return the network namespace that a file names; None where the file is gone or may not be read."""
        identity = _identity(path)
        return None if identity is None else cls(path, identity)

    @classmethod
    def of_process(cls, pid: int, host_root: Path) -> Self | None:
        """Return the namespace of a process by the host's number of it, None without the process."""
        return cls.at(host_root / "proc" / str(pid) / _OF_PROCESS)

    @property
    def is_host(self) -> bool:
        """Whether it is the namespace of this program, which works in the host's."""
        return self.identity == _identity(_OWN)

    def entrance(self, host_root: Path) -> Path | None:
        """Return a file that still is this namespace, None where none is left: it has ended, or soon will."""
        found = (path for path in self._candidates(host_root) if _identity(path) == self.identity)
        return next(found, None)

    def _candidates(self, host_root: Path) -> Iterator[Path]:
        yield self.path
        pinned = host_root / _PINNED
        yield from (pinned / name for name in _names(pinned))
        processes = host_root / "proc"
        yield from (processes / name / _OF_PROCESS for name in _names(processes) if name.isdigit())


def namespace_of(pid: int, host_root: Path, subject: str) -> PodNamespace:
    """Return the namespace of a container's process, by the host's number of it; ``subject`` for messages.

    Raises: NotReady where the process has ended; ClaimUnusable where its pod has the host's network.
    """
    found = PodNamespace.of_process(pid, host_root)
    if found is None:
        reason = f"process {pid} of its container has ended"
        raise NotReady(_ATTEMPTED, subject, reason, "it is retried")
    if found.is_host:
        remedy = "the user leaves hostNetwork out of the pod"
        raise ClaimUnusable(_ATTEMPTED, subject, "its pod has the host's network", remedy)
    return found


def _identity(path: Path) -> str | None:
    try:
        found = os.stat(path)
    except OSError:  # the process ended, or the file was unlinked
        return None
    return f"{found.st_dev}:{found.st_ino}"


def _names(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(os.listdir(folder))
    except OSError:
        return ()
