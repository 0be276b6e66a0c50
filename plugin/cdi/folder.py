"""The CDI documents of this driver: one file per claim, in a folder that all CDI vendors share.

Only files whose names have this driver's form are changed. Documents are replaced whole, and read back to
check that the file has the wanted content.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from plugin.base import files
from plugin.base.claim_uid import is_uid
from plugin.base.errors import NotReady, StorageFailed
from plugin.cdi.document import Document, checksum, encode, environment_name
from plugin.cdi.names import device_of
from plugin.cdi.standing import Exists, may_stay
from scheduler_core.model.claim import ClaimUid
from scheduler_core.model.device import DeviceName

_MODE: Final = 0o644
_SUFFIX: Final = ".json"
_UNREADABLE: Final = b""  # no document is empty


class _Edits(msgspec.Struct, rename="camel"):
    env: tuple[str, ...] = ()


class _Device(msgspec.Struct, rename="camel"):
    name: str
    container_edits: _Edits


class _Known(msgspec.Struct):
    devices: tuple[_Device, ...]


_DOCUMENTS: Final = msgspec.json.Decoder(_Known)


@dataclass(frozen=True, slots=True)
class CdiFolder:
    """This driver's documents in the folder that container runtimes read."""

    folder: Path
    driver: str

    def path(self, uid: ClaimUid) -> Path:
        """Return the path of a claim's document."""
        return files.within(self.folder, f"{self._prefix}{uid}{_SUFFIX}")

    def ensure(self, uid: ClaimUid, content: bytes) -> str:
        """Write a claim's document unless the file has this content already, and read it back.

        A file that cannot be read is written again, here and below. Returns the checksum of the document.
        Raises: StorageFailed; NotReady where the file has other content afterwards.
        """
        path = self.path(uid)
        if files.read(path, _UNREADABLE) != content:
            self._write(path, content)
        return checksum(content)

    def keep(self, uid: ClaimUid, document: Document, exists: Exists, recorded: str | None = None) -> str:
        """Leave a claim's document as it is where it may stay; else write this one, as ``ensure`` does.

        Returns the checksum of the one that stands. Shape: ``recorded`` is the checksum of the document that
        was written for the same devices, None where it is not known.
        Raises: StorageFailed; NotReady.
        """
        on_disk, wanted = files.read(self.path(uid), _UNREADABLE), encode(document)
        if on_disk is not None and (on_disk == wanted or may_stay(on_disk, document, exists, recorded)):
            return checksum(on_disk)
        return self.ensure(uid, wanted)

    def restore(
        self, uid: ClaimUid, document: Document, exists: Exists, known: bytes | None, recorded: str | None
    ) -> str | None:
        """Write a claim's document again where it is missing or may not stay.

        Returns the checksum of what was written, None where the present one stays. Shape: ``known`` what was
        in the file before, None where that is not known; it is written if it may stay, else ``document``;
        ``recorded`` as for ``keep``. Raises: StorageFailed; NotReady.
        """
        path, wanted = self.path(uid), encode(document)
        on_disk = files.read(path, _UNREADABLE)
        if on_disk == wanted or (on_disk is not None and may_stay(on_disk, document, exists, recorded)):
            return None
        is_good = known is not None and may_stay(known, document, exists, recorded)
        content = known if known is not None and is_good else wanted
        self._write(path, content)
        return checksum(content)

    def remove(self, uid: ClaimUid) -> bool:
        """Remove a claim's document; return whether there was one. Raises: StorageFailed."""
        return files.remove(self.path(uid))

    def has(self, uid: ClaimUid) -> bool:
        """Whether a claim has a document, which is whole then."""
        return os.path.lexists(self.path(uid))

    def devices(self, uid: ClaimUid) -> Mapping[DeviceName, str]:
        """Return the devices that a claim's document gives to containers, each with its identity.

        Devices with admin access are not among them. A document that cannot be read says nothing.
        """
        try:
            found = _DOCUMENTS.decode(files.read(self.path(uid)) or b"").devices
        except (msgspec.DecodeError, UnicodeDecodeError, StorageFailed):
            return {}
        named = {device_of(uid, one.name): one.container_edits.env for one in found}
        told = {DeviceName(name): _identity(name, variables) for name, variables in named.items()}
        return {name: identity for name, identity in told.items() if identity is not None}

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


def _identity(device: str, variables: Iterable[str]) -> str | None:
    """Return what containers are told of a device, None of one that they may only look at."""
    start = f"{environment_name(device)}="
    return next((one.removeprefix(start) for one in variables if one.startswith(start)), None)
