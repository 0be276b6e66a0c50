"""Small files of sysfs and procfs, read one by one.

A path enters, its text or number leaves, None where the kernel does not tell. Nothing is cached: what a
file says may change between two reads, and a device may vanish between its listing and its reading.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from agent.hardware.errors import HardwareError, HardwareFault, NoPermission, NotFound

_PAGE_BYTES: Final = 4096
"""What the kernel gives at once of a file of sysfs."""


def text(path: Path) -> str | None:
    """Return the file's text without the newline, None where it cannot be read.

    A netdev's ``carrier`` answers EINVAL while it is down and a vanished device ENODEV: both are normal.
    """
    try:
        return _content(path)
    except OSError:
        return None


def number(path: Path) -> int | None:
    """Return the file's decimal number, None where it cannot be read or is none."""
    found = text(path)
    try:
        return int(found or "")
    except ValueError:
        return None


def head(path: Path, size: int) -> bytes:
    """Return at most the first ``size`` bytes, none where the file cannot be read.

    Larger reads of a PCI function's ``config`` would each touch the device, so nobody asks for more.
    """
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def link_name(path: Path) -> str | None:
    """Return the last part of what a link points to, None where it is absent."""
    try:
        return path.readlink().name
    except OSError:
        return None


def is_folder(path: Path) -> bool:
    """Whether ``path`` leads to a folder; no for a broken link, a loop and what may not be looked at."""
    # Path.is_dir raises where access is denied and Path.resolve where links form a loop.
    return os.path.isdir(path)


def exists(path: Path) -> bool:
    """Whether ``path`` leads to anything; no for what may not be looked at."""
    return os.path.exists(path)


def resolved(path: Path) -> Path:
    """Return ``path`` with its links followed as far as they lead; a loop ends where it begins."""
    return Path(os.path.realpath(path))


def names(folder: Path) -> tuple[str, ...]:
    """Return the sorted names in ``folder``, none where it is absent.

    Raises: NoPermission, HardwareFault where it is there and cannot be listed.
    """
    try:
        return tuple(sorted(entry.name for entry in folder.iterdir()))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise refusal("list", str(folder), error) from error


def required_text(path: Path, subject: str) -> str:
    """Return the text of a file that ``subject`` cannot be described without.

    Raises: NotFound where it is gone; NoPermission, HardwareFault where it cannot be read or is empty.
    """
    attempted = f"read {path.name}"
    try:
        found = _content(path)
    except OSError as error:
        raise refusal(attempted, subject, error) from error
    if not found:
        raise HardwareFault(attempted, subject, f"{path} is empty")
    return found


def _content(path: Path) -> str:
    # Calls to the system itself: there are hundreds of such files, and layers cost more than reading them.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = iter(lambda: os.read(descriptor, _PAGE_BYTES), b"")
        return b"".join(parts).decode(errors="replace").strip()
    finally:
        os.close(descriptor)


def refusal(attempted: str, subject: str, error: OSError) -> HardwareError:
    """Translate an errno."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return NotFound(attempted, subject, str(error))
        case PermissionError():
            return NoPermission(attempted, subject, str(error))
        case _:
            return HardwareFault(attempted, subject, str(error))
