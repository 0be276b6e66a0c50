"""Claims from a folder of YAML files.

Takes a namespace and a name; returns a claim as a plain document, in the form of the API. People edit files:
the folder is looked at anew at each call, and a file is read again once it has changed. A file that cannot
be read does not hide the claims of other files: it is logged once.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from daemon import documents
from daemon.document import MAX_BYTES, NotReadable
from plugin.base.errors import ClaimUnreadable, ClaimUnusable
from scheduler_core.codec.members import Members
from scheduler_core.model.claim import ClaimRef

_SETTLED_NS: Final = 100_000_000
"""A file that was just changed may change again with the same times: file systems count in milliseconds."""
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Why a file cannot be used. Shape: ``state`` of the file then, None where it must be tried again."""

    reason: str
    state: tuple[int, ...] | None


class ClaimDirectory:
    """The claims in the YAML and JSON files of one folder; a YAML file may hold several documents."""

    def __init__(self, folder: Path, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.folder = folder
        self._now_ns = now_ns
        self._read: dict[Path, tuple[tuple[int, ...], list[Mapping[str, Any]]]] = {}
        self._changing = threading.Lock()
        self._broken: dict[Path, _Trouble] = {}

    def read(self, ref: ClaimRef, meanwhile: Callable[[], None] = lambda: None) -> Mapping[str, Any]:
        """Return the claim; ``meanwhile`` is called first, because a file needs no waiting.

        Raises: ClaimUnusable where it does not exist, or exists twice; ClaimUnreadable.
        """
        meanwhile()
        found: list[tuple[Path, Mapping[str, Any]]] = []
        troubles: dict[Path, _Trouble] = {}
        paths = self._files()
        for gone in self._read.keys() - set(paths):
            self._read.pop(gone, None)
        for path in paths:
            read = self._claims(path)
            if isinstance(read, _Trouble):
                troubles[path] = read
            else:
                found += [(path, claim) for claim in read if _ref(claim) == ref]
        self._note(troubles)
        if len(found) > 1:
            places = " and ".join(str(path) for path, _ in found)
            raise ClaimUnusable("read", f"claim {ref}", f"it exists more than once: {places}")
        if not found and troubles:
            told = "; ".join(trouble.reason for trouble in troubles.values())
            reason = f"no readable file has it; files that cannot be read: {told}"
            raise ClaimUnreadable("read", f"claim {ref}", reason, "correct the file")
        if not found:
            raise ClaimUnusable("read", f"claim {ref}", f"no file in {self.folder} has it")
        return found[0][1]

    def members(self, driver: str, pool: str) -> Members:
        """Raise ClaimUnusable: a folder of claims has no pools of several nodes."""
        reason = "without an API server nobody says which GPUs its devices have"
        raise ClaimUnusable("read", f"pool {driver}/{pool}", reason, "the user asks for devices of this node")

    def _files(self) -> Iterable[Path]:
        try:
            return [path for path in sorted(self.folder.iterdir()) if path.suffix in _SUFFIXES]
        except OSError as error:
            raise ClaimUnreadable("read claims of", str(self.folder), error.strerror or str(error)) from error

    def _claims(self, path: Path) -> list[Mapping[str, Any]] | _Trouble:
        try:
            with open(path, "rb", opener=_without_waiting) as file:
                found = os.fstat(file.fileno())
                state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
                known = self._broken.get(path)
                if known is not None and known.state == state:
                    return known
                read = self._read.get(path)
                if read is not None and read[0] == state:
                    return read[1]
                is_settled = self._now_ns() - found.st_ctime_ns >= _SETTLED_NS
                if not stat.S_ISREG(found.st_mode):
                    return _Trouble(f"{path}: is no regular file", state)
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            return _Trouble(f"{path}: cannot be read: {error.strerror or error}", None)
        try:
            claims = list(_claims_of(str(path), data))
        except NotReadable as error:
            return _Trouble(str(error), state)
        if is_settled:
            self._read[path] = state, claims
        return claims

    def _note(self, troubles: dict[Path, _Trouble]) -> None:
        """Remember which files cannot be read, and log those for which that or the reason is new."""
        with self._changing:
            for path, trouble in troubles.items():
                before = self._broken.get(path)
                if before is None or before.reason != trouble.reason:
                    _log.warning("a claim file was skipped: %s", trouble.reason)
            self._broken = troubles


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without blocking: opening a pipe without a writer would wait for ever."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _claims_of(name: str, data: bytes) -> Iterator[Mapping[str, Any]]:
    for document in documents.documents(name, documents.decode(name, data)):
        content = document.content
        if isinstance(content, Mapping) and content.get("kind") == "ResourceClaim":
            yield content


def _ref(claim: Mapping[str, Any]) -> ClaimRef | None:
    metadata = claim.get("metadata")
    if not isinstance(metadata, Mapping):
        return None
    return ClaimRef(str(metadata.get("namespace") or "default"), str(metadata.get("name")))
