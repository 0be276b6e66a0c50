"""Finds the data-direct functions of NICs' cards.

A ConnectX-8 with Data Direct has one more PCI function, below another root complex near the GPU, through
which it reads GPU memory. The driver pairs both by an id that the NIC tells only on a firmware command; in
files both report the serial number of one card, and this is what is compared here.
Source: Linux, drivers/infiniband/hw/mlx5/data_direct.c, for the device id and the keyword ``VU``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.types import Bdf
from agent.hardware.vital_product_data import SERIAL, UNIQUE_ID, product_data

_DATA_DIRECT: Final = ("0x15b3", "0x2100")


def data_direct(root: Path, bdfs: Iterable[Bdf], addresses: Iterable[Bdf]) -> Mapping[Bdf, Bdf]:
    """Return the data-direct functions of NICs' cards, without those that have none or cannot be told.

    A card with several of them has one per port; then the id decides, which begins with the NIC's.
    """
    candidates = tuple(each for each in addresses if _is_data_direct(root, each))
    if not candidates:
        return {}
    found = {each: product_data(root, each) for each in candidates}
    pairs = ((bdf, _alike(product_data(root, bdf), found)) for bdf in bdfs)
    return {bdf: alike[0] for bdf, alike in pairs if len(alike) == 1}


def _alike(own: Mapping[str, str], found: Mapping[Bdf, Mapping[str, str]]) -> list[Bdf]:
    alike = [each for each, data in found.items() if data.get(SERIAL) == own.get(SERIAL) is not None]
    if len(alike) > 1 and UNIQUE_ID in own:
        alike = [each for each in alike if found[each].get(UNIQUE_ID, "").startswith(own[UNIQUE_ID])]
    return alike


def _is_data_direct(root: Path, bdf: Bdf) -> bool:
    folder = os.path.join(root, "sys/bus/pci/devices", bdf)  # a text: faster to extend than a Path
    vendor, device = _DATA_DIRECT
    return attributes.text(f"{folder}/vendor") == vendor and attributes.text(f"{folder}/device") == device
