"""The file that says which settings of the policy are in effect: the plugin writes it, the agent reads it.

It lies beside the file with the numbers of the GPUs.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from agent.inventory.numbers.shared_file import SharedFile
from agent.policy.effect import Effect
from agent.policy.resolved import Resolved, Waiting

VERSION: Final = 1
_MOST_BYTES: Final = 16 * 2**20
_SUFFIX: Final = ".policy.json"


class Damaged(Exception):
    """The bytes are no sound file of this node's settings; the text says what is wrong."""


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The format on disk. Shape: ``checksum`` SHA-256 of the file with an empty one."""

    version: int
    node: str
    settings: Resolved
    waiting: tuple[Waiting, ...]
    problem: str = ""
    checksum: str = ""


_FILES: Final = msgspec.json.Decoder(_File)


@dataclass(frozen=True, slots=True)
class Stored:
    """What the file says. Shape: ``problem`` why the present policy is not followed, empty where it is."""

    effect: Effect
    problem: str = ""


@dataclass(frozen=True, slots=True)
class EffectFile:
    """The file of one node in one folder, which is made where it is missing.

    Units: ``sleep`` seconds; a writer waits 5 s for another one.
    """

    folder: Path
    node: str
    sleep: Callable[[float], None] = time.sleep

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self.folder / f"{self.node}{_SUFFIX}"

    def read(self) -> Stored | None:
        """Return what is in effect, None where there is no file. Raises: Damaged, NotKept."""
        data = self._file.read(_MOST_BYTES)
        return None if data is None else self._decoded(data)

    def stamp(self) -> tuple[int, int, int] | None:
        """Return what changes when the file is replaced, None where there is none."""
        return self._file.stamp()

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers away for the length of a block. Raises: NotKept."""
        return self._file.locked()

    def replace(self, stored: Stored) -> None:
        """Write what is in effect; it survives a power cut. The caller holds the lock. Raises: NotKept."""
        self._file.replace(self._encoded(stored))

    def set_aside(self) -> Path:
        """Rename a damaged file and return its new path. The caller holds the lock. Raises: NotKept."""
        return self._file.set_aside()

    def remove(self) -> None:
        """Remove the file: no policy is in effect. Raises: NotKept."""
        self._file.remove()

    @property
    def _file(self) -> SharedFile:
        return SharedFile(self.path, self.sleep)

    def _encoded(self, stored: Stored) -> bytes:
        unsigned = _File(
            version=VERSION,
            node=self.node,
            settings=stored.effect.settings,
            waiting=stored.effect.waiting,
            problem=stored.problem,
        )
        digest = hashlib.sha256(_text(unsigned)).hexdigest()
        return _text(msgspec.structs.replace(unsigned, checksum=digest))

    def _decoded(self, data: bytes) -> Stored:
        try:
            found = _FILES.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Damaged(str(error)) from error
        stored = Stored(Effect(found.settings, found.waiting), found.problem)
        if (found.version, found.node) != (VERSION, self.node):
            raise Damaged(f"it is of node {found.node!r} in version {found.version}")
        if self._encoded(stored) != data:
            raise Damaged("its checksum or its form is wrong")
        return stored


def _text(file: _File) -> bytes:
    return msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n"
