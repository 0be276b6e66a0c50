"""PURE: which number each GPU has by the slices that the node published.

Takes v1 slices, of this version or an earlier one. What is not understood is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agent.hardware.types import GpuUuid, normal_bdf
from agent.inventory.numbers.numbering import Witness
from agent.inventory.topology import PCI_BUS_ID
from scheduler_core.frontends.partitions.gpu_numbers import numbers_in
from scheduler_core.model.names import qualified


def witnesses_in(slices: Iterable[Mapping[str, Any]], driver: str) -> Iterator[Witness]:
    """Yield what the slices of one node say, the newest first."""
    newest = sorted(slices, key=lambda one: -int(one["spec"]["pool"].get("generation") or 0))
    for one in newest:
        for device in one["spec"].get("devices") or ():
            found = _witness(device, driver)
            if found is not None:
                yield found


def _witness(device: Mapping[str, Any], driver: str) -> Witness | None:
    attributes = device.get("attributes") or {}

    def text(*keys: str) -> str:
        found = (attributes.get(spelling) for key in keys for spelling in (key, qualified(key, driver)))
        return next((one["string"] for one in found if one and one.get("string")), "")

    numbers = numbers_in(device["name"])
    uuid, address = text("uuid", "parentUUID"), text(PCI_BUS_ID)
    if len(numbers) != 1 or not (uuid or address):
        return None
    try:
        return Witness(numbers[0], normal_bdf(address) if address else None, GpuUuid(uuid) if uuid else None)
    except ValueError:
        return None
