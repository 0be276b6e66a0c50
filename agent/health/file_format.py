"""PURE: the file that keeps the health of a node's devices, as bytes.

Every byte is checked: a file is sound only if it is exactly what would be written for what it says, and its
checksum is right. The fields are the format on disk.
"""

from __future__ import annotations

import hashlib
from math import isfinite
from typing import Final

import msgspec

from agent.hardware.types import Bdf, GpuUuid, normal_bdf
from agent.health.causes import Cause
from agent.health.state import GpuMemory, HealthState, Key, Trouble

VERSION: Final = 1
MOST_BYTES: Final = 4 * 1024 * 1024
"""Far more than all troubles of a node need."""
_LAST_S: Final = 253402300799.0  # the end of the year 9999


class Damaged(Exception):
    """The bytes are no sound file of this node's health; the text says what is wrong."""


class _Trouble(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Units: ``since`` and ``last`` seconds since 1970."""

    target: str
    cause: str
    xid: int | None = None
    gi: int | None = None
    ci: int | None = None
    since: float
    last: float
    times: int = 1
    detail: str = ""


class _Gpu(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    bdf: str
    away: bool = False
    needs_recovery: bool = False
    remap_pending: bool = False
    ecc: int = 0
    links: tuple[int, ...] = ()


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shape: ``checksum`` SHA-256 of the file with an empty one."""

    version: int
    node: str
    boot_id: str
    troubles: tuple[_Trouble, ...]
    gpus: dict[str, _Gpu]
    checksum: str


_FILES: Final = msgspec.json.Decoder(_File)


def encode(node: str, state: HealthState) -> bytes:
    """Return the file of a node. Shape: one value a line, for people who read it."""
    unsigned = _File(
        version=VERSION,
        node=node,
        boot_id=state.boot_id,
        troubles=tuple(sorted(map(_written, state.troubles.items()), key=_order)),
        gpus={gpu: _written_gpu(state.gpus[gpu]) for gpu in sorted(state.gpus)},
        checksum="",
    )
    digest = hashlib.sha256(_text(unsigned)).hexdigest()
    return _text(msgspec.structs.replace(unsigned, checksum=digest))


def decode(node: str, data: bytes) -> HealthState:
    """Return what a file of this node says. Raises: Damaged."""
    try:
        found = _FILES.decode(data)
        state = _read(found)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Damaged(str(error)) from error
    if found.version != VERSION:
        raise Damaged(f"it has version {found.version}, and this program reads version {VERSION}")
    if found.node != node:
        raise Damaged(f"it is of node {found.node!r}")
    if encode(node, state) != data:
        raise Damaged("its checksum or its form is wrong")
    return state


def _read(found: _File) -> HealthState:
    troubles = {_key(one): _trouble(one) for one in found.troubles}
    gpus = {
        GpuUuid(uuid): GpuMemory(
            bdf=normal_bdf(one.bdf),
            is_away=one.away,
            needs_recovery=one.needs_recovery,
            is_remap_pending=one.remap_pending,
            ecc=one.ecc,
            links=frozenset(one.links),
        )
        for uuid, one in found.gpus.items()
    }
    return HealthState(found.boot_id, troubles, gpus)


def _key(one: _Trouble) -> Key:
    target = Bdf(one.target) if ":" in one.target else GpuUuid(one.target)
    return Key(target=target, cause=Cause(one.cause), xid=one.xid, gi_id=one.gi, ci_id=one.ci)


def _trouble(one: _Trouble) -> Trouble:
    if not all(isfinite(at_s) and 0 <= at_s <= _LAST_S for at_s in (one.since, one.last)):
        raise ValueError(f"a time of {one.cause} is none")
    return Trouble(one.since, one.last, one.times, one.detail)


def _written(entry: tuple[Key, Trouble]) -> _Trouble:
    key, trouble = entry
    return _Trouble(
        target=key.target,
        cause=str(key.cause),
        xid=key.xid,
        gi=key.gi_id,
        ci=key.ci_id,
        since=trouble.since_s,
        last=trouble.last_s,
        times=trouble.times,
        detail=trouble.detail,
    )


def _written_gpu(memory: GpuMemory) -> _Gpu:
    return _Gpu(
        bdf=memory.bdf,
        away=memory.is_away,
        needs_recovery=memory.needs_recovery,
        remap_pending=memory.is_remap_pending,
        ecc=memory.ecc,
        links=tuple(sorted(memory.links)),
    )


def _order(one: _Trouble) -> tuple[object, ...]:
    numbers = tuple(-1 if each is None else each for each in (one.xid, one.gi, one.ci))
    return (one.target, one.cause, *numbers)


def _text(file: _File) -> bytes:
    return msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n"
