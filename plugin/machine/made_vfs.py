"""Which VFs this driver made: one file for each NIC, written before they are made and removed after them.

Only what is written here is ever removed again. The caller holds the NIC's lock. The files need not survive a
power cut: no VF does.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from agent.hardware.types import Bdf
from plugin.base import files
from plugin.base.errors import StorageFailed

_SUFFIX: Final = ".json"
_MODE: Final = 0o600
_log = logging.getLogger(__name__)


class MadeVfs(msgspec.Struct, frozen=True, kw_only=True):
    """The VFs that were made on one NIC. The fields are the format on disk.

    Shape: ``asked`` how many the kernel was asked for; ``made`` how many there were then, None until that is
           known; a driver may make fewer than asked.
    """

    boot_id: str
    asked: int
    made: int | None = None

    def are(self, present: int) -> bool:
        """Whether VFs that are there now are these. Nobody makes some on a NIC that has some."""
        return 0 < present <= self.asked if self.made is None else 0 < present == self.made


_FILES: Final = msgspec.json.Decoder(MadeVfs)


@dataclass(frozen=True, slots=True)
class MadeVfStore:
    """The files in one folder. Raises everywhere: StorageFailed."""

    folder: Path

    def load(self, nic: Bdf, boot_id: str) -> MadeVfs | None:
        """Return what was made on a NIC in this boot, None without anything.

        A file that cannot be read counts as none: then the VFs stay.
        """
        try:
            data = files.read(self._path(nic))
            if not data:
                return None
            found = _FILES.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, StorageFailed) as problem:
            if isinstance(problem, StorageFailed) and files.is_passing(problem):
                raise
            _log.error("NIC %s: whose VFs it has is unknown, so they stay: %s", nic, problem)
            return None
        return found if found.boot_id == boot_id else None

    def save(self, nic: Bdf, made: MadeVfs) -> None:
        """Write what is made on a NIC. It survives the end of this process."""
        files.replace(self._path(nic), msgspec.json.encode(made) + b"\n", _MODE, synced=False)

    def remove(self, nic: Bdf) -> None:
        """Forget what was made on a NIC."""
        files.remove(self._path(nic))

    def nics(self) -> tuple[Bdf, ...]:
        """Return the NICs on which VFs were made, by address."""
        return tuple(
            Bdf(name.removesuffix(_SUFFIX))
            for name in sorted(files.names(self.folder))
            if name.endswith(_SUFFIX) and not name.startswith(".")
        )

    def _path(self, nic: Bdf) -> Path:
        return self.folder / f"{nic}{_SUFFIX}"
