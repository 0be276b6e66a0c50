"""PURE: which MIG instances a claim's record names, as far as its file can be believed.

Takes the bytes of a file; changes nothing. Of a record only what finds an instance is read, so that every
version of the format is understood, newer ones too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from agent.hardware.types import GpuUuid, MigSpec, Placement
from agent.inventory.foreign.record_lines import sound_records


@dataclass(frozen=True, slots=True)
class RecordedInstance:
    """What a record says of a MIG device; a ``HeldInstance``."""

    spec: MigSpec
    place: Placement | None = None
    gi_id: int | None = None
    mig_uuid: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What a file says. Shape: ``is_damaged`` where lines of it are lost, so that it may have said more."""

    held: tuple[RecordedInstance, ...] = ()
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class Records:
    """What all records say. Shape: ``damaged`` the UIDs of the claims whose records may have said more."""

    held: tuple[RecordedInstance, ...] = ()
    damaged: tuple[str, ...] = ()


class _Claim(msgspec.Struct):
    claim_uid: str
    boot_id: str
    devices: tuple[msgspec.Raw, ...]


class _MigDevice(msgspec.Struct):
    """What every kind of MIG device has in a record, and no other device has."""

    parent_uuid: str
    profile_id: int
    start: int
    size: int
    gi_id: int | None = None
    mig_uuid: str | None = None
    compute_start: int | None = None
    compute_size: int | None = None
    admin_access: bool = False


_CLAIMS: Final = msgspec.json.Decoder(_Claim)
_MIG_DEVICES: Final = msgspec.json.Decoder(_MigDevice)


def said_in(data: bytes, uid: str, boot_id: str) -> Said:
    """Return what the file of a claim says of instances of this boot: its last sound record with devices."""
    sound = list(sound_records(data))
    is_damaged = len(sound) < max(data.count(b"\n"), 1 if data else 0)
    once = dict.fromkeys(sound)  # a line that stands there twice says nothing new
    found = [one for one in map(_claim, once) if one is not None and one.claim_uid == uid]
    last = next((one for one in reversed(found) if one.devices), None)
    if last is not None and last.boot_id != boot_id:
        return Said()  # no instance survives a boot
    return Said(() if last is None else tuple(_held(last)), is_damaged)


def _claim(stored: bytes) -> _Claim | None:
    try:
        return _CLAIMS.decode(stored)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _held(claim: _Claim) -> Iterator[RecordedInstance]:
    for device in claim.devices:
        try:
            found = _MIG_DEVICES.decode(device)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue  # a device of another kind
        if not found.admin_access:
            yield _recorded(found)


def _recorded(device: _MigDevice) -> RecordedInstance:
    spec = MigSpec(GpuUuid(device.parent_uuid), device.profile_id, Placement(device.start, device.size))
    is_part = device.compute_start is not None and device.compute_size is not None
    place = Placement(device.compute_start or 0, device.compute_size or 0) if is_part else None
    return RecordedInstance(spec, place, device.gi_id, device.mig_uuid)
