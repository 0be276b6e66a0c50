"""The file of a node's health on disk: the agent writes it, the plugin reads it.

Takes a folder; reads and replaces one file in it. A process that dies at any moment leaves the old file or
the new one. Of two agents during a rolling update the one that writes last counts; both hear the same.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.health.file_format import MOST_BYTES, Damaged, decode, encode
from agent.health.state import HealthState

FOLDER: Final = "health"
_SUFFIX: Final = ".json"
_ASIDE: Final = ".damaged"
_FILE_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o755

Identity = tuple[int, int, int] | None
"""What tells one version of the file from another; None where there is no file."""


def folder_of(kubelet_dir: Path, driver: str, machine: Path | None) -> Path:
    """Return the folder that agent and plugin share: in the plugin's own, or in a simulated machine's."""
    return (kubelet_dir / "plugins" / driver if machine is None else machine) / FOLDER


class NotKept(Exception):
    """The file can be neither read nor written now; the text says which file, and why."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """The health of one node in one folder, which is made where it is missing."""

    folder: Path
    node: str

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self.folder / f"{self.node}{_SUFFIX}"

    def identity(self) -> Identity:
        """Return another value after each change. It costs one look at the folder."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read(self) -> HealthState | None:
        """Return the state, None where there is no file. Raises: Damaged, NotKept."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:
                data = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NotKept(f"{self.path} cannot be read: {error.strerror or error}") from error
        if len(data) > MOST_BYTES:
            raise Damaged(f"it is larger than {MOST_BYTES} bytes")
        return decode(self.node, data)

    def replace(self, state: HealthState) -> None:
        """Write the state; it survives a power cut. Raises: NotKept."""
        temporary = self.folder / f".{self.path.name}.{os.getpid()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
            try:
                with open(os.open(temporary, flags, _FILE_MODE), "wb") as file:
                    file.write(encode(self.node, state))
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(self.path)
            except OSError:
                with suppress(OSError):
                    temporary.unlink()
                raise
            self._sync_folder()
        except OSError as error:
            raise NotKept(f"{self.path} cannot be written: {error.strerror or error}") from error

    def set_aside(self) -> Path:
        """Rename a damaged file and return its new path. Raises: NotKept."""
        aside = self.folder / f"{self.path.name}{_ASIDE}"
        try:
            with suppress(FileNotFoundError):
                self.path.replace(aside)
        except OSError as error:
            raise NotKept(f"{self.path} cannot be renamed: {error.strerror or error}") from error
        return aside

    def _sync_folder(self) -> None:
        """Make the new name durable: it is part of the folder, not of the file."""
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
