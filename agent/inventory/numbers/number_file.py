"""The file of a node's numbers on disk, which agent and plugin share.

Takes a folder; reads and replaces one file in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.inventory.numbers.file_format import MOST_BYTES, Damaged, decode, encode
from agent.inventory.numbers.numbering import Numbers
from agent.inventory.numbers.shared_file import SharedFile

FOLDER: Final = "gpu-numbers"
_SUFFIX: Final = ".json"


def folder_of(kubelet_dir: Path, driver: str, machine: Path | None) -> Path:
    """Return the folder that agent and plugin share: in the plugin's own, or in a simulated machine's."""
    return (kubelet_dir / "plugins" / driver if machine is None else machine) / FOLDER


@dataclass(frozen=True, slots=True)
class NumberFile:
    """The numbers of one node in one folder, which is made where it is missing.

    Units: ``sleep`` seconds; a writer waits 5 s for another one.
    """

    folder: Path
    node: str
    sleep: Callable[[float], None] = time.sleep

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self.folder / f"{self.node}{_SUFFIX}"

    def read(self) -> Numbers | None:
        """Return the numbers, None where there is no file. Raises: Damaged, NotKept."""
        data = self._file.read(MOST_BYTES)
        if data is None:
            return None
        if len(data) > MOST_BYTES:
            raise Damaged(f"it is larger than {MOST_BYTES} bytes")
        return decode(self.node, data)

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers away for the length of a block. Raises: NotKept."""
        return self._file.locked()

    def replace(self, numbers: Numbers) -> None:
        """Write the numbers; they survive a power cut. The caller holds the lock. Raises: NotKept."""
        self._file.replace(encode(self.node, numbers))

    def set_aside(self) -> Path:
        """Rename a damaged file and return its new path. The caller holds the lock. Raises: NotKept."""
        return self._file.set_aside()

    @property
    def _file(self) -> SharedFile:
        return SharedFile(self.path, self.sleep)
