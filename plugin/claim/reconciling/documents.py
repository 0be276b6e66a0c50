"""The CDI documents of prepared claims as this process last found them right.

What somebody deletes or changes is written again byte by byte, so a container that starts again gets the
same, also where an earlier version of the plugin wrote the document.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from plugin.base import files
from plugin.base.errors import StorageFailed
from plugin.cdi.document import Document
from plugin.cdi.folder import CdiFolder
from plugin.cdi.standing import Exists
from scheduler_core.model.claim import ClaimUid


@dataclass(frozen=True, slots=True)
class _Known:
    identity: tuple[int, ...]
    content: bytes


@dataclass(frozen=True, slots=True)
class KnownDocuments:
    """The documents of one folder. One thread uses it."""

    cdi: CdiFolder
    _known: dict[ClaimUid, _Known] = field(default_factory=dict, init=False, repr=False, compare=False)

    def is_altered(self, uid: ClaimUid) -> bool:
        """Whether a claim's document is missing, or cannot be seen to be the file that was found right.

        Raises: StorageFailed for what says nothing of the file.
        """
        known = self._known.get(uid)
        try:
            return known is None or files.identity(self.cdi.path(uid)) != known.identity
        except StorageFailed as error:
            if files.is_passing(error):
                raise
            return True

    def restore(self, uid: ClaimUid, document: Document, exists: Exists, recorded: str | None) -> str | None:
        """Write a claim's document again unless the present one may stay.

        Returns the checksum of what was written, None where the present one stays. Shape: ``document`` as it
        would be written today, ``recorded`` the checksum of the one that was. The caller holds the lock.
        Raises: StorageFailed; NotReady.
        """
        path, known = self.cdi.path(uid), self._known.pop(uid, None)
        before = None if known is None else known.content
        written = self.cdi.restore(uid, document, exists, before, recorded)
        identity, content = files.identity(path), files.read(path)
        if identity is not None and content is not None:
            self._known[uid] = _Known(identity, content)
        return written

    def keep_only(self, uids: Collection[ClaimUid]) -> None:
        """Forget the documents of all other claims."""
        for gone in self._known.keys() - set(uids):
            del self._known[gone]
