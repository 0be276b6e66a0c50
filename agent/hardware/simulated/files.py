"""Files of a rendered tree. Every operation is idempotent.

Paths are relative to the root and use ``/``. The tree may be read at any time: an existing file is replaced
as a whole, a new file is created before the links to it.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_NULL = os.makedev(1, 3)


@dataclass(frozen=True, slots=True)
class Files:
    """The files below ``root``."""

    root: Path

    def write(self, path: str, content: str | bytes) -> None:
        """Create a file with this content."""
        data = content.encode() if isinstance(content, str) else content
        full = f"{self.root}/{path}"
        try:
            with open(full, "rb", buffering=0) as file:
                if file.readall() == data:
                    return
            full_new = f"{full}.new"
            _write(full_new, data)
            os.replace(full_new, full)
        except FileNotFoundError:
            self._make(full, lambda: _write(full, data))

    def folder(self, path: str) -> None:
        """Create a folder."""
        os.makedirs(f"{self.root}/{path}", exist_ok=True)

    def link(self, path: str, target: str) -> None:
        """Create a relative link to another path of the tree."""
        full = f"{self.root}/{path}"
        relative = posixpath.relpath(f"/{target}", posixpath.dirname(f"/{path}"))
        try:
            if os.readlink(full) == relative:
                return
            os.unlink(full)
        except FileNotFoundError:
            pass
        self._make(full, lambda: os.symlink(relative, full))

    def character_device(self, path: str) -> None:
        """Create a copy of the null device, or a plain file if this process may create no devices.

        A container runtime can inject the copy; reading it gives an end of file.
        """
        full = f"{self.root}/{path}"
        if os.path.lexists(full):
            return
        try:
            self._make(full, lambda: os.mknod(full, stat.S_IFCHR | 0o666, _NULL))
        except PermissionError:
            self._make(full, lambda: _write(full, b""))
        os.chmod(full, 0o666)  # noqa: S103 (mknod obeys the umask)

    def program(self, path: str, content: str) -> None:
        """Create an executable file."""
        self.write(path, content)
        os.chmod(f"{self.root}/{path}", 0o755)  # noqa: S103 (a program for containers)

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with its content."""
        full = f"{self.root}/{path}"
        try:
            os.unlink(full)
        except FileNotFoundError:
            pass
        except (IsADirectoryError, PermissionError):
            shutil.rmtree(full)

    def names(self, path: str) -> tuple[str, ...]:
        """Return the sorted names in a folder, none if it does not exist."""
        with suppress(FileNotFoundError):
            return tuple(sorted(os.listdir(f"{self.root}/{path}")))
        return ()

    def exists(self, path: str) -> bool:
        """Whether a path exists; true for a broken link too."""
        return os.path.lexists(f"{self.root}/{path}")

    @staticmethod
    def _make(full: str, make: Callable[[], None]) -> None:
        try:
            make()
        except FileNotFoundError:
            os.makedirs(posixpath.dirname(full), exist_ok=True)
            make()


def _write(full: str, data: bytes) -> None:
    with open(full, "wb", buffering=0) as file:
        file.write(data)
