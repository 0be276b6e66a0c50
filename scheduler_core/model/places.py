"""The attributes that say where a device is in a machine, the closest place first.

What "below one switch" means, and why the path is one text: ``agent/inventory/topology.py``.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.model.device import AttributeValue, QualifiedName

PCIE_ROOT: Final = QualifiedName("resource.kubernetes.io/pcieRoot")
NUMA_NODE: Final = QualifiedName("resource.kubernetes.io/numaNode")
SWITCH: Final = "pcieSwitch"
"""A driver's own attribute: the topmost switch above the device."""
SWITCH_PATH: Final = "pcieSwitchPath"
"""A driver's own attribute: all switches above the device, from the topmost to the nearest."""

_OWN: Final = (SWITCH_PATH, SWITCH, "pcieRootPort")


def wider_places(attribute: QualifiedName) -> tuple[QualifiedName, ...]:
    """Return the attributes of wider places, the closest first; nothing for an attribute of another kind."""
    domain, _, _ = attribute.rpartition("/")
    places = (*(QualifiedName(f"{domain}/{own}") for own in _OWN), PCIE_ROOT, NUMA_NODE)
    return places[places.index(attribute) + 1 :] if attribute in places else ()


def switch_levels(path: AttributeValue | None, switch: AttributeValue | None = None) -> tuple[str, ...]:
    """Return the switches above a device, the topmost first. ``switch`` counts if there is no path."""
    if isinstance(path, str):
        return tuple(path.split("/"))
    return (switch,) if isinstance(switch, str) else ()
