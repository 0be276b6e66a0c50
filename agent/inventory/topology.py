"""A device's place in the PCIe and NUMA topology as attributes.

An unknown level is left out, so that no constraint matches on "unknown". Standard names:
``resource.kubernetes.io/{pciBusID,pcieRoot,numaNode}``; ``dra.net/numaNode`` is what earlier drivers
publish; ``pcieSwitch``, ``pcieRootPort`` and ``dataDirectSwitch`` are ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from agent.hardware.types import Bdf, PciFunction
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.names import qualified

_STANDARD_BDF: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_STANDARD_ROOT: Final = re.compile(r"pci[0-9a-f]{4}:[0-9a-f]{2}")
PCI_BUS_ID: Final = QualifiedName("resource.kubernetes.io/pciBusID")
PCIE_ROOT: Final = QualifiedName("resource.kubernetes.io/pcieRoot")
NUMA_NODE: Final = QualifiedName("resource.kubernetes.io/numaNode")
NUMA_ALIAS: Final = QualifiedName("dra.net/numaNode")


def topology_attributes(function: PciFunction | None, driver: str) -> dict[QualifiedName, AttributeValue]:
    """Return the topology attributes of a function, without its own address."""
    if function is None:
        return {}
    path = function.path
    found: dict[QualifiedName, AttributeValue | None] = {
        PCIE_ROOT: path.root_complex if _STANDARD_ROOT.fullmatch(path.root_complex or "") else None,
        NUMA_NODE: function.numa_node,
        NUMA_ALIAS: function.numa_node,
        qualified("pcieSwitch", driver): path.switch,
        qualified("pcieRootPort", driver): path.root_port,
    }
    return {name: value for name, value in found.items() if value is not None}


def direct_attribute(
    function: PciFunction | None, driver: str, among: Collection[Bdf] | None = None
) -> Mapping[QualifiedName, AttributeValue]:
    """Return the switch by which GPUs and data-direct functions are matched, nothing where it is unknown.

    Shape: ``function`` is a data-direct one, or a GPU's; ``among`` the switches that count, None for any.
    """
    switch = function.path.switch if function is not None else None
    if switch is None or (among is not None and switch not in among):
        return {}
    return {qualified("dataDirectSwitch", driver): switch}


def address_attribute(function: PciFunction | None) -> Mapping[QualifiedName, AttributeValue]:
    """Return the function's address if it has the standard form (four-digit domain)."""
    if function is None or not _STANDARD_BDF.fullmatch(function.bdf):
        return {}
    return {PCI_BUS_ID: function.bdf}


def expendable(driver: str) -> tuple[QualifiedName, ...]:
    """Return the attributes to leave out of a device that has too many attributes and capacities, in order.

    First those that repeat another attribute, then those of the parent, then those rarely selected by.
    Source: docs/decisions/0006-attribute-budget.md.
    """
    own = ("pcieRootPort", "brand", "parentMinor", "architecture", "pcieSwitch")
    first = (NUMA_ALIAS, qualified(own[0], driver), PCI_BUS_ID)
    return (*first, *(qualified(key, driver) for key in own[1:]))
