"""The policy file as it is watched: read anew when it changes, a bad one refused and told.

A mounted ConfigMap changes by another link, so what counts is which file the path leads to.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from agent.policy.files import BadPolicy, PolicyFile, read_file
from agent.policy.option import refuse_disagreeing

_Stamp = tuple[int, int, int, int] | None


@dataclass(slots=True)
class WatchedPolicy:
    """A policy file. For one thread. Shape: ``options`` those of the program that a policy replaces.

    ``last`` is the last good policy, None where there was none yet; ``problem`` why the file is not followed
    as it is now, empty where it is.
    """

    path: Path
    options: tuple[str, ...] = ()
    last: PolicyFile | None = None
    problem: str = ""
    _stamp: _Stamp = field(default=None, repr=False)
    _is_read: bool = field(default=False, repr=False)

    def look(self) -> None:
        """Read the file, if it is another one than at the last look."""
        stamp = self._present()
        if self._is_read and stamp == self._stamp:
            return
        self._stamp, self._is_read = stamp, True
        try:
            self.last, self.problem = read_checked(self.path, self.options), ""
        except BadPolicy as error:
            self.problem = str(error)

    def _present(self) -> _Stamp:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def read_checked(path: Path, options: tuple[str, ...]) -> PolicyFile:
    """Return the policy of a file that goes with the options of a program. Raises: BadPolicy."""
    found = read_file(path)
    found.placed(lambda policy: refuse_disagreeing(policy, options))
    return found
