"""The CDI documents of this driver: one file per claim in a folder that belongs to everybody.

Only files of our own name form are ever touched. Documents are written whole; whether the one on disk is
the one that was meant is read back, never assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from plugin.base import files
from plugin.base.claim_uid import is_uid
from plugin.base.errors import NotReady
from plugin.cdi.document import Document, encode
from scheduler_core.model.claim import ClaimUid

_MODE: Final = 0o644
_SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True)
class CdiFolder:
    """The folder that container runtimes read, as far as it is ours."""

    folder: Path
    driver: str

    def path(self, uid: ClaimUid) -> Path:
        """Return where a claim's document is."""
        return self.folder / f"{self._prefix}{uid}{_SUFFIX}"

    def ensure(self, uid: ClaimUid, document: Document) -> None:
        """Write a claim's document unless this very one is there, and read it back.

        Raises: StorageFailed; NotReady where something else stands on disk afterwards.
        """
        path, wanted = self.path(uid), encode(document)
        if files.read(path) == wanted:
            return
        # Not synced: a document of an earlier boot is removed at the start, whatever is in it.
        files.replace(path, wanted, _MODE, synced=False)
        if files.read(path) != wanted:
            raise NotReady("use", f"CDI document {path}", "what is on disk is not what was written")

    def remove(self, uid: ClaimUid) -> bool:
        """Remove a claim's document; say whether there was one. Raises: StorageFailed."""
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
