"""PURE: an inventory whose devices are where an operator says, instead of where the kernel says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from agent.hardware.types import Bdf, PciFunction
from agent.inventory.model import Inventory
from agent.inventory.topology import StatedPlace

_Places = Mapping[Bdf, StatedPlace]


def placed_as_stated(inventory: Inventory, places: _Places) -> Inventory:
    """Return an inventory with devices at the places that are stated for their addresses.

    VFs are where their NIC is. A GPU without a function on PCI has no place.
    """
    if not places:
        return inventory
    return replace(
        inventory,
        gpus=tuple(
            one if one.function is None else replace(one, function=_placed(one.function, places))
            for one in inventory.gpus
        ),
        unlisted=tuple(replace(one, function=_placed(one.function, places)) for one in inventory.unlisted),
        nics=tuple(replace(pf, function=_placed(pf.function, places)) for pf in inventory.nics),
        functions={
            bdf: facts
            if facts.data_direct is None
            else replace(facts, data_direct=_placed(facts.data_direct, places))
            for bdf, facts in inventory.functions.items()
        },
    )


def placed_functions(inventory: Inventory) -> Iterator[PciFunction]:
    """Yield the functions whose place is published: of GPUs, of NICs, and their data-direct functions."""
    yield from (one.function for one in inventory.gpus if one.function is not None)
    yield from (one.function for one in inventory.unlisted)
    for pf in inventory.nics:
        yield pf.function
        direct = inventory.facts_of(pf.function.bdf).data_direct
        if direct is not None:
            yield direct


def _placed(function: PciFunction, places: _Places) -> PciFunction:
    stated = places.get(function.bdf)
    return function if stated is None else stated.on(function)
