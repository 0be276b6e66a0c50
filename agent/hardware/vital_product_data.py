"""Reads the vital product data of PCI functions: the serial number of the card and vendors' own keywords.

Takes an address or bytes; returns text by keyword. Anything malformed ends the reading; what was read before
counts. Source: PCI Local Bus Specification 2.2, Appendix I.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.types import Bdf

_MOST_BYTES: Final = 1024
"""Each four bytes are an access to the device; the read-only part lies at the beginning."""

SERIAL: Final = "SN"
UNIQUE_ID: Final = "VU"
"""NVIDIA's keyword for the function's id within its card."""

_READ_ONLY: Final = 0x90
_END: Final = 0x78
_LARGE: Final = 0x80


def product_data(root: Path, bdf: Bdf) -> Mapping[str, str]:
    """Return the keywords of a function, empty if it has none or this process may not read them."""
    return keywords(attributes.head(root / "sys/bus/pci/devices" / bdf / "vpd", _MOST_BYTES))


def product_data_of(fields: Mapping[str, str]) -> bytes:
    """Return the bytes that say these read-only keywords, as a simulated card has them."""
    body = b"".join(key.encode() + bytes([len(value)]) + value.encode() for key, value in fields.items())
    return bytes([_READ_ONLY]) + len(body).to_bytes(2, "little") + body + bytes([_END])


def keywords(data: bytes) -> Mapping[str, str]:
    """Return the read-only keywords, empty if there are none."""
    at = 0
    while at < len(data) and data[at] != _END:
        tag = data[at]
        header = 3 if tag & _LARGE else 1
        if at + header > len(data):
            break
        length = int.from_bytes(data[at + 1 : at + 3], "little") if tag & _LARGE else tag & 7
        if tag == _READ_ONLY:
            return _fields(data[at + header : at + header + length])
        at += header + length
    return {}


def _fields(data: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at + 3 <= len(data):
        length = data[at + 2]
        value = data[at + 3 : at + 3 + length]
        if len(value) < length:
            break
        name = data[at : at + 2].decode("ascii", errors="replace")
        text = value.decode("ascii", errors="replace").strip(" \x00")
        if text.isprintable():
            found[name] = text
        at += 3 + length
    return found
