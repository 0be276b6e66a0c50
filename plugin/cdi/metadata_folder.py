"""The metadata files of this driver's claims, and the CDI documents that mount them.

The files lie in a folder for each claim, by namespace and name, as Kubernetes' own library lays them out.
They are replaced whole. A container sees the file that was there when it started, whatever replaces it later.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from plugin.base import files
from plugin.base.claim_uid import is_uid
from plugin.base.errors import ClaimUnusable, StorageFailed
from plugin.cdi.metadata import RequestFile, encode, mount_document
from scheduler_core.model.claim import ClaimRef, ClaimUid
from scheduler_core.model.names import is_pool

_MODE: Final = 0o644
_NAME: Final = "metadata.json"
_LONGEST_NAME: Final = 255
_UNREADABLE: Final = b""  # no file is empty

Tell = Callable[[str, str], None]
"""Tells that something is wrong: of which thing, and a sentence."""


class _Names(msgspec.Struct):
    uid: str
    generation: int


class _Known(msgspec.Struct):
    metadata: _Names


_FIRST_OBJECTS: Final = msgspec.json.Decoder(_Known)


@dataclass(frozen=True, slots=True)
class MetadataFolder:
    """The files in ``folder``, and the documents in the folder that container runtimes read.

    Shape: ``is_wanted`` whether files are written; those that are there are removed in any case.
    """

    folder: Path
    cdi_folder: Path
    driver: str
    is_wanted: bool

    def ensure(self, ref: ClaimRef, uid: ClaimUid, found: Iterable[RequestFile]) -> None:
        """Write the files of a claim and their documents, unless they say the same already.

        A file that cannot be read is written again.
        Raises: StorageFailed; ClaimUnusable where a name cannot name a file.
        """
        for file in found:
            _refuse_unusable(ref, file.request)
            path = self.path(ref, file.request)
            data = files.read(path, _UNREADABLE)
            known = _names_in(data)
            generation = known.generation if known is not None and known.uid == uid else 0
            if data != encode(ref, uid, file, generation):
                files.replace(path, encode(ref, uid, file, generation + 1), _MODE, synced=False)
            document = self.document(uid, file.request)
            wanted = mount_document(self.driver, ref, uid, file, str(path))
            if files.read(document, _UNREADABLE) != wanted:
                files.replace(document, wanted, _MODE, synced=False)

    def remove(self, ref: ClaimRef | None, uid: ClaimUid) -> None:
        """Remove the documents of a claim and its files. Shape: ``ref`` None where it is not known.

        The files of a later claim of the same name stay. A file that cannot be read does not count as one.
        Raises: StorageFailed.
        """
        # A text, since nearly every claim has no files, and a path costs more than this look.
        own = f"{self.folder}/{_folder_name(ref)}" if ref is not None else None
        if own is not None and not self.is_wanted and not files.exists(own):
            return  # else the next claim of the name may have ended before and taken the files of both
        prefix = self._prefix(uid)
        for listed in files.names(self.cdi_folder):
            name = (files.original_name(listed) or listed) if prefix in listed else ""
            if name.startswith(prefix):
                files.remove(self.cdi_folder / name)
        if own is None:
            folders = [folder for folder in self._all_claims(_nobody) if _owners(folder) - {None} == {uid}]
        else:
            folders = [Path(own)] if _owners(own) <= {uid, None} else []
        for folder in folders:
            _remove_folder(folder)

    def claims(self, tell: Tell) -> frozenset[ClaimUid]:
        """Return the claims that have a document or files, whole or half-written.

        ``tell`` is called for each file that cannot be read; the claim of such a file is not known.
        Raises: StorageFailed where documents cannot be listed, or the process has too many open files.
        """
        start = f"{self.driver}_metadata_"
        names = (files.original_name(name) or name for name in files.names(self.cdi_folder))
        mounted = (name.removeprefix(start).partition("_")[0] for name in names if name.startswith(start))
        owners = (owner for folder in self._all_claims(tell) for owner in _owners(folder, tell))
        return frozenset(ClaimUid(uid) for uid in (*mounted, *owners) if uid is not None and is_uid(uid))

    def path(self, ref: ClaimRef, request: str) -> Path:
        """Return the path of a request's file."""
        return self._of_claim(ref) / request / _NAME

    def document(self, uid: ClaimUid, request: str) -> Path:
        """Return the path of the document that mounts a request's file."""
        return self.cdi_folder / f"{self._prefix(uid)}{request}.json"

    def _prefix(self, uid: ClaimUid) -> str:
        return f"{self.driver}_metadata_{uid}_"

    def _of_claim(self, ref: ClaimRef) -> Path:
        return self.folder / _folder_name(ref)

    def _all_claims(self, tell: Tell) -> list[Path]:
        try:
            return [self.folder / name for name in files.names(self.folder)]
        except StorageFailed as error:
            _tell_unknown(error, tell)
            return []


def _folder_name(ref: ClaimRef) -> str:
    name = f"{ref.namespace}_{ref.name}".replace("/", "_")
    # Names of claims may be as long as names of files, and the namespace comes on top.
    return name if len(name) <= _LONGEST_NAME else hashlib.sha256(name.encode()).hexdigest()


def _refuse_unusable(ref: ClaimRef, request: str) -> None:
    for what, name in (("its namespace", ref.namespace), ("its name", ref.name), ("its request", request)):
        if not is_pool(name) or "/" in name:
            reason = f"{what} {name[:80]!r} must be a lower-case DNS subdomain, to be part of a path"
            raise ClaimUnusable("write the metadata of", f"claim {ref}", reason)


def _nobody(thing: str, text: str) -> None:
    """Ignore an error of reading: the file is removed now, or a look has logged it already."""


def _owners(folder: Path | str, tell: Tell = _nobody) -> set[str | None]:
    """Return the UIDs in a claim's files, None for a file or folder that cannot be read.

    Raises: StorageFailed where the process has too many open files.
    """
    found: set[str | None] = set()
    requests: Sequence[str] = ()
    try:
        requests = files.names(folder)
    except StorageFailed as error:
        _tell_unknown(error, tell)
        found.add(None)
    for request in requests:
        names = None
        try:
            names = _names_in(files.read(f"{folder}/{request}/{_NAME}"))
        except StorageFailed as error:
            _tell_unknown(error, tell)
        found.add(None if names is None else names.uid)
    return found


def _tell_unknown(error: StorageFailed, tell: Tell) -> None:
    if files.is_passing(error):
        raise error
    tell(f"owner of {error.subject}", f"for which claim {error.subject} was written is unknown: {error}")


def _names_in(data: bytes | None) -> _Names | None:
    """Return the claim's names in the first object of a file."""
    first = (data or b"").partition(b"\n}\n")[0] + b"}"
    try:
        return _FIRST_OBJECTS.decode(first).metadata
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _remove_folder(folder: Path) -> None:
    """Remove a claim's folder, or the file or link in its place.

    One that cannot be examined stays, and a later look tries again. Raises: StorageFailed.
    """
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        if folder.is_symlink() or folder.is_file():
            files.remove(folder)
        elif files.exists(folder):
            raise StorageFailed("remove", str(folder), error.strerror or str(error)) from error
