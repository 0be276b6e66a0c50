"""The folder in which the hook of container runtimes and the plugin meet: requests, answers, and a bell.

The hook is a shell script, which can open no socket; so it writes a file, rings a FIFO that every plugin of
the node listens to, and waits at a FIFO of its own. The folder is root's alone. Whoever removes a request has
it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files as package_files
from pathlib import Path
from typing import Final

from plugin.base import files
from plugin.base.errors import StorageFailed
from plugin.cdi.hook import PROGRAM

_MODE: Final = 0o700
_PROGRAM_MODE: Final = 0o500
_BELL: Final = "bell"
_REQUEST: Final = ".request"
_ANSWER: Final = ".answer"
_LONGEST: Final = 2**20
_LONGEST_ANSWER: Final = 2000
"""Characters; well below the 4096 bytes that a FIFO takes in one piece."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question of a hook. Shape: ``text`` has the claim's UID, the device and the container's state."""

    text: bytes
    answer_file: Path

    def is_awaited(self) -> bool:
        """Whether the hook still waits for its answer."""
        descriptor = self._opened()
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is not None

    def answer(self, line: str) -> bool:
        """Answer with one line; return whether the hook was still there."""
        descriptor = self._opened()
        if descriptor is None:
            return False
        try:
            os.write(descriptor, f"{' '.join(line.split())[:_LONGEST_ANSWER]}\n".encode())
        except OSError:  # the hook ended meanwhile
            return False
        finally:
            os.close(descriptor)
        return True

    def _opened(self) -> int | None:
        try:
            descriptor = os.open(self.answer_file, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # ENXIO: nobody reads; ENOENT: the hook removed it
            return None
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        return None


@dataclass(frozen=True, slots=True)
class Mailbox:
    """The folder of one driver."""

    folder: Path

    def set_up(self) -> int:
        """Write the hook's program, make the bell and return a descriptor that hears it.

        Raises: StorageFailed.
        """
        files.make_folder(self.folder, _MODE)
        program = package_files("plugin.runtime").joinpath(PROGRAM).read_bytes()
        # Another program may stand there: a link, a folder or a FIFO is not ours, whatever it leads to.
        present = files.read(self.folder / PROGRAM, unreadable=b"")
        if present != program or (self.folder / PROGRAM).is_symlink():
            files.replace(self.folder / PROGRAM, program, _PROGRAM_MODE, synced=False)
        bell = self.folder / _BELL
        try:
            self.folder.chmod(_MODE)
            if files.exists(bell) and not stat.S_ISFIFO(bell.lstat().st_mode):
                files.move_aside(bell)
            with suppress(FileExistsError):
                os.mkfifo(bell, 0o600)
            # For writing, too: a FIFO that somebody has open for both never seems closed.
            return os.open(bell, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise StorageFailed("make", str(bell), error.strerror or str(error)) from error

    def take(self) -> Iterator[Request]:
        """Take the requests that are there, each for this caller alone. Raises: StorageFailed."""
        for name in files.names(self.folder):
            if not name.endswith(_REQUEST):
                continue
            path = self.folder / name
            text = files.read(path)
            if text is not None and files.remove(path):
                yield Request(text[:_LONGEST], path.with_suffix(_ANSWER))
