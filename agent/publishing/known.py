"""What we know of a shelf: what the watch told, and what our own writes were answered.

Both arrive in any order: the newer version of an object counts, and what we deleted stays deleted however
late the watch tells of its life. Safe to use from the watch's thread and the publisher's.
"""

from __future__ import annotations

import threading

from agent.publishing.documents import Document, name_of
from agent.publishing.ports import Change, Gone, Interrupted, Listed, Stored


class Known:
    """The objects of one shelf as far as we know."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._objects: dict[str, Document] = {}
        self._deleted: set[str] = set()
        self._is_listed = False

    @property
    def is_listed(self) -> bool:
        """Whether the shelf was ever seen as a whole."""
        with self._lock:
            return self._is_listed

    def documents(self) -> tuple[Document, ...]:
        """Return the objects by name."""
        with self._lock:
            return tuple(self._objects[name] for name in sorted(self._objects))

    def hear(self, change: Change) -> bool:
        """Take in a change and return whether it told anything new."""
        with self._lock:
            before = {name: _version(one) for name, one in self._objects.items()}
            match change:
                case Listed(documents=documents):
                    self._objects = {name_of(one): one for one in documents}
                    self._deleted.clear()
                    self._is_listed, was_listed = True, self._is_listed
                    if not was_listed:
                        return True
                case Stored(document=document):
                    self._keep(document)
                case Gone(document=document):
                    self._forget(document)
                case Interrupted():
                    return False
            return before != {name: _version(one) for name, one in self._objects.items()}

    def wrote(self, document: Document) -> None:
        """Take in the answer to a write of ours."""
        with self._lock:
            self._keep(document)

    def deleted(self, name: str, uid: str) -> None:
        """Take in a deletion of ours."""
        with self._lock:
            self._deleted.add(uid)
            if name in self._objects and _uid(self._objects[name]) == uid:
                del self._objects[name]

    def _keep(self, document: Document) -> None:
        known = self._objects.get(name_of(document))
        if _uid(document) in self._deleted:
            return
        if known is None or _uid(known) != _uid(document) or _version(known) <= _version(document):
            self._objects[name_of(document)] = document

    def _forget(self, document: Document) -> None:
        known = self._objects.get(name_of(document))
        self._deleted.discard(_uid(document))
        if known is not None and _uid(known) == _uid(document):
            del self._objects[name_of(document)]


def _uid(document: Document) -> str:
    return str(document["metadata"].get("uid"))


def _version(document: Document) -> int:
    """Return the version as a number: Kubernetes lets the versions of one kind be compared (KEP-5504)."""
    text = str(document["metadata"].get("resourceVersion"))
    return int(text) if text.isdecimal() else 0
