"""Where a device is in its node, as its attributes say it."""

from __future__ import annotations

from scheduler_core.frontends.occupancy.reading import Part, value_of
from scheduler_core.frontends.occupancy.values import Place


def place_of(part: Part) -> Place:
    """Return the place of the first device of a part that says each thing."""
    numa = value_of(part.component, part.mask, "numaNode")
    return Place(
        numa_node=numa if isinstance(numa, int) else None,
        pci_bus_id=_text(part, "pciBusID"),
        pcie_root=_text(part, "pcieRoot"),
        pcie_root_port=_text(part, "pcieRootPort"),
        pcie_switch=_text(part, "pcieSwitch"),
    )


def _text(part: Part, identifier: str) -> str | None:
    found = value_of(part.component, part.mask, identifier)
    return found if isinstance(found, str) else None
