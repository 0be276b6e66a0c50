"""PURE: what can be known of a claim from a file that cannot be believed as a whole.

Takes the bytes of a file; returns what those of its records say whose own checksum is right, wherever they
stand. That is enough to keep devices from others, and too little to change anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from agent.inventory.foreign.record_lines import sound_records
from plugin.claim.record import Record
from scheduler_core.model.claim import ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceName


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a file lets one know.

    Shape: ``record`` the last one with devices, None where none has any; ``names`` of the devices in records
           that this program cannot read; ``ref`` and ``boot_id`` None where they are not known.
    """

    record: Record | None = None
    names: frozenset[DeviceName] = frozenset()
    ref: ClaimRef | None = None
    boot_id: str | None = None


class _Device(msgspec.Struct):
    device: str
    admin_access: bool = False


class _Known(msgspec.Struct):
    """What a record of any version has."""

    claim_uid: str
    namespace: str
    name: str
    boot_id: str
    devices: tuple[_Device, ...]


_CLAIMS: Final = msgspec.json.Decoder(_Known)
_RECORDS: Final = msgspec.json.Decoder(Record)


def evidence(data: bytes, uid: ClaimUid) -> Evidence:
    """Return what a file lets one know of a claim."""
    found = Evidence()
    for claim in dict.fromkeys(sound_records(data)):  # a line that stands there twice says nothing new
        try:
            known = _CLAIMS.decode(claim)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if known.claim_uid != uid:
            continue
        record, names = found.record, found.names
        try:
            read = _RECORDS.decode(claim)
            record = read if read.devices else record
        except (msgspec.DecodeError, UnicodeDecodeError):
            names |= {DeviceName(one.device) for one in known.devices if not one.admin_access}
        found = Evidence(record, names, ClaimRef(known.namespace, known.name), known.boot_id)
    return found
