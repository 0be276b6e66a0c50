"""Reads small files of sysfs and procfs.

Takes a path; returns its text or number, None if the kernel gives no value. Nothing is cached: a value may
change between two reads, and a device may disappear after it was listed.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final, Self

from agent.hardware.errors import HardwareError, HardwareFault, NoPermission, NotFound

_PAGE_BYTES: Final = 4096
"""Bytes; the kernel gives no more of a sysfs file in one read."""
_MOST_BYTES: Final = 16 * 2**20
"""Bytes of a whole file. A file of sysfs has a page, a routing table of procfs 128 bytes for each route."""


AnyPath = Path | str
"""Texts are for files that are read for each claim: making a Path costs as much as reading the file."""


def text(path: AnyPath) -> str | None:
    """Return the file's text without the newline, None if it cannot be read.

    Failures are normal: a netdev's ``carrier`` answers EINVAL while it is down, a removed device ENODEV.
    """
    try:
        return _content(path)
    except OSError:
        return None


def number(path: AnyPath) -> int | None:
    """Return the file's decimal number, None if it cannot be read or is no number."""
    found = text(path)
    try:
        return int(found or "")
    except ValueError:
        return None


def head(path: AnyPath, size: int) -> bytes:
    """Return at most the first ``size`` bytes, none if the file cannot be read.

    Keep ``size`` small: reading more of a PCI function's ``config`` would access the device itself.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, size)
        finally:
            os.close(descriptor)
    except OSError:
        return b""


def link(path: AnyPath) -> str | None:
    """Return what a link says, None if there is no link. In sysfs that names the folders above its target."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def link_name(path: AnyPath) -> str | None:
    """Return the last part of a link's target, None if there is no link."""
    return last_part(link(path))


def last_part(said: str | None) -> str | None:
    """Return the last part of what a link says."""
    return None if said is None else said.rpartition("/")[2]


class OpenFolder:
    """An open folder, for a with statement: what is below it is found without the way to it.

    Of thousands of links the kernel would walk that way for each, which is most of the work.
    Raises: NotFound, NoPermission, HardwareFault if it cannot be opened or listed.
    """

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise refusal("list", str(path), error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def names(self) -> list[str]:
        """Return the sorted names in it."""
        try:
            return sorted(os.listdir(self._descriptor))
        except OSError as error:
            raise refusal("list", str(self._path), error) from error

    def link(self, below: str) -> str | None:
        """Return what the link at a path below it says, None if there is no link."""
        try:
            return os.readlink(below, dir_fd=self._descriptor)
        except OSError:
            return None


def links(folder: AnyPath, below: str = "") -> list[tuple[str, str]]:
    """Return the links in a folder by name, each with what it says; none if the folder does not exist.

    Shape: with ``below``, the links of that path in each folder of ``folder``. What is no link is left out.
    Raises: NoPermission, HardwareFault if it exists and cannot be listed.
    """
    end = f"/{below}" if below else ""
    try:
        with OpenFolder(folder) as opened:
            found = [(name, opened.link(name + end)) for name in opened.names()]
    except NotFound:
        return []
    return [(name, said) for name, said in found if said is not None]


def is_folder(path: AnyPath) -> bool:
    """Whether ``path`` leads to a folder; false for a broken link, a loop and a path without access."""
    # Path.is_dir raises where access is denied and Path.resolve where links form a loop.
    return os.path.isdir(path)


def exists(path: AnyPath) -> bool:
    """Whether ``path`` leads to anything; false for a path without access."""
    return os.path.exists(path)


def resolved(path: AnyPath) -> Path:
    """Return ``path`` with its links resolved as far as possible; a loop is left as it is."""
    return Path(os.path.realpath(path))


def target(path: AnyPath) -> str:
    """Return where a link of sysfs leads, ``path`` itself if it is none.

    What it says names all folders above its target; resolving would ask for each whether it is a link.
    """
    said = link(path)
    return str(path) if said is None else os.path.normpath(os.path.join(os.path.dirname(path), said))


def names(folder: AnyPath) -> tuple[str, ...]:
    """Return the sorted names in ``folder``, none if it does not exist.

    Raises: NoPermission, HardwareFault if it exists and cannot be listed.
    """
    try:
        return tuple(sorted(os.listdir(folder)))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise refusal("list", str(folder), error) from error


def required_text(path: AnyPath, subject: str) -> str:
    """Return the text of a file that every ``subject`` must have.

    Raises: NotFound if it does not exist; NoPermission, HardwareFault if it cannot be read or is empty.
    """
    try:
        found = _content(path, is_one_value=True)
    except OSError as error:
        raise refusal(f"read {os.path.basename(path)}", subject, error) from error
    if not found:
        raise HardwareFault(f"read {os.path.basename(path)}", subject, f"{path} is empty")
    return found


def _content(path: AnyPath, *, is_one_value: bool = False) -> str:
    """Return the text of a file; one value comes whole in the first read, if it is no longer than a page."""
    # Direct system calls: there are thousands of such files, and file objects cost more than the reads.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = part = os.read(descriptor, _PAGE_BYTES)
        if not is_one_value or len(part) == _PAGE_BYTES:
            found += _rest(descriptor) if part else b""
        return found.decode(errors="replace").strip()
    finally:
        os.close(descriptor)


def _rest(descriptor: int) -> bytes:
    parts, size = list[bytes](), 0
    while part := os.read(descriptor, _PAGE_BYTES):
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise OSError(errno.EFBIG, f"more than {_MOST_BYTES} bytes")
    return b"".join(parts)


def refusal(attempted: str, subject: str, error: OSError) -> HardwareError:
    """Return the error for an errno."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return NotFound(attempted, subject, str(error), errno=error.errno)
        case PermissionError():
            return NoPermission(attempted, subject, str(error), errno=error.errno)
        case _:
            return HardwareFault(attempted, subject, str(error), errno=error.errno)
