"""The file that says which settings of the policy are in effect: the plugin writes it, the agent reads it.

It lies beside the file with the numbers of the GPUs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar, Final

import msgspec

from agent.inventory.numbers.node_file import NodeFile
from agent.policy.effect import Effect
from agent.policy.resolved import Resolved, Waiting

VERSION: Final = 1


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
class EffectFile(NodeFile[Stored]):
    """What is in effect on one node."""

    SUFFIX: ClassVar[str] = ".policy.json"
    MOST: ClassVar[int] = 16 * 2**20

    def _encoded(self, said: Stored) -> bytes:
        unsigned = _File(
            version=VERSION,
            node=self.node,
            settings=said.effect.settings,
            waiting=said.effect.waiting,
            problem=said.problem,
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
