"""Reads the folder in which the plugin keeps the records of claims. Nothing in it is changed."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.inventory.foreign.records import Records, Said, said_in

_FOLDER: Final = "claims"
_SUFFIX: Final = ".json"
_MOST_BYTES: Final = 1 << 20
"""The plugin replaces a file that is longer than 64 KiB by its last record."""
_OF_THE_READER: Final = frozenset({errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Failures that say something of this process or moment, and nothing of the file."""


class RecordsUnknown(Exception):
    """Nobody can say now what the records say; the text says why."""


@dataclass(frozen=True, slots=True)
class RecordFolder:
    """The records of one driver's plugin on this node."""

    path: Path

    @classmethod
    def of(cls, kubelet_dir: Path, driver: str) -> RecordFolder:
        """Return the folder of a driver's plugin."""
        return cls(kubelet_dir / "plugins" / driver / _FOLDER)

    def read(self, boot_id: str) -> Records:
        """Return what the records say of this boot. Raises: RecordsUnknown."""
        said = {}
        for name in sorted(self._names()):
            if name.endswith(_SUFFIX) and not name.startswith("."):
                uid = name.removesuffix(_SUFFIX)
                said[uid] = self._said(name, uid, boot_id)
        return Records(
            tuple(one for each in said.values() for one in each.held),
            tuple(uid for uid, each in said.items() if each.is_damaged),
        )

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.path)
        except OSError as error:
            raise self._unknown(self.path, error) from error

    def _said(self, name: str, uid: str, boot_id: str) -> Said:
        try:
            data = self._bytes(self.path / name)
        except FileNotFoundError:
            return Said()  # it was removed since the folder was listed
        except OSError as error:
            if error.errno in _OF_THE_READER:
                raise self._unknown(self.path / name, error) from error
            return Said(is_damaged=True)
        return said_in(data, uid, boot_id)

    def _bytes(self, path: Path) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            return os.read(descriptor, _MOST_BYTES)
        finally:
            os.close(descriptor)

    def _unknown(self, path: Path, error: OSError) -> RecordsUnknown:
        return RecordsUnknown(f"{path} cannot be read: {error.strerror or error}")
