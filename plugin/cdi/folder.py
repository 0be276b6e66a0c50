"""The CDI documents of this driver: one file per claim, in a folder that all CDI vendors share.

Only files whose names have this driver's form are changed. Documents are replaced whole, and read back to
check that the file has the wanted content.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from plugin.base import files
from plugin.base.claim_uid import is_uid
from plugin.base.errors import NotReady
from plugin.cdi.document import Document, encode
from plugin.cdi.standing import Exists, may_stay
from scheduler_core.model.claim import ClaimUid

_MODE: Final = 0o644
_SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True)
class CdiFolder:
    """This driver's documents in the folder that container runtimes read."""

    folder: Path
    driver: str

    def path(self, uid: ClaimUid) -> Path:
        """Return the path of a claim's document."""
        return self.folder / f"{self._prefix}{uid}{_SUFFIX}"

    def ensure(self, uid: ClaimUid, document: Document) -> None:
        """Write a claim's document unless the file has this content already, and read it back.

        Raises: StorageFailed; NotReady where the file has other content afterwards.
        """
        path, wanted = self.path(uid), encode(document)
        if files.read(path) != wanted:
            self._write(path, wanted)

    def keep(self, uid: ClaimUid, document: Document, exists: Exists) -> None:
        """Leave a claim's document as it is where it may stay; else write this one, as ``ensure`` does.

        Raises: StorageFailed; NotReady.
        """
        path, wanted = self.path(uid), encode(document)
        on_disk = files.read(path)
        if on_disk != wanted and (on_disk is None or not may_stay(on_disk, document, exists)):
            self._write(path, wanted)

    def remove(self, uid: ClaimUid) -> bool:
        """Remove a claim's document; return whether there was one. Raises: StorageFailed."""
        return files.remove(self.path(uid))

    def claims(self) -> frozenset[ClaimUid]:
        """Return the claims that have a document, whole or half-written. Raises: StorageFailed."""
        listed = files.names(self.folder)
        names = {files.original_name(name) or name for name in listed}
        uids = (
            name.removeprefix(self._prefix).removesuffix(_SUFFIX)
            for name in names
            if name.startswith(self._prefix) and name.endswith(_SUFFIX)
        )
        return frozenset(ClaimUid(uid) for uid in uids if is_uid(uid))

    @property
    def _prefix(self) -> str:
        return f"{self.driver}-claim_"

    @staticmethod
    def _write(path: Path, wanted: bytes) -> None:
        # Not synced: a document of an earlier boot is removed at the start, whatever its content.
        files.replace(path, wanted, _MODE, synced=False)
        if files.read(path) != wanted:
            reason = "its content is not what was written"
            raise NotReady(
                "use", f"CDI document {path}", reason, "it is retried; something else writes the file"
            )
