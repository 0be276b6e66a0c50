"""A device's place in the PCIe and NUMA topology as attributes.

An unknown level is left out, so that no constraint matches on "unknown". An operator may state what the
kernel does not know, or says wrong; the device then has the attribute ``topologyOverride``. Standard names:
``resource.kubernetes.io/{pciBusID,pcieRoot,numaNode}``; ``dra.net/numaNode`` is what earlier drivers
publish; ``pcieSwitch``, ``pcieSwitchPath``, ``pcieRootPort`` and ``dataDirectSwitch`` are ours.

``pcieSwitch`` is the topmost switch, the one next to the root port. A root port has one link, so all
functions below it that are joined by switches only have an equal value, at any number of levels (PIX and PXB
of ``nvidia-smi topo``), and no others. The nearest switch would not do: on DGX A100 no GPU and NIC share it
(NVIDIA/nccl#1505), and a BlueField has a switch of its own. ``pcieSwitchPath`` names all switches from the
topmost to the nearest: it is equal for functions with the same nearest switch (PIX), and of two pairs the one
with the longer common beginning is closer. One text holds all levels, because attributes are scarce; a list
would need an alpha gate of the API server.

Up to 2026-11 ``pcieSwitch`` was the nearest switch. Functions with an equal nearest switch have an equal
topmost one, so claims that fitted still fit, and allocated claims keep their devices. A pod that is exclusive
at PCIeLevel keeps rivals from the whole tree from then on; pods that were placed in one tree before stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.hardware.types import Bdf, PciePath, PciFunction
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.places import NUMA_NODE, PCIE_ROOT, SWITCH, SWITCH_PATH

_STANDARD_BDF: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_LONGEST_TEXT: Final = 64
"""Source: resource.k8s.io, DeviceAttributeMaxValueLength."""
_STANDARD_ROOT: Final = re.compile(r"pci[0-9a-f]{4}:[0-9a-f]{2}", re.ASCII)
PCI_BUS_ID: Final = QualifiedName("resource.kubernetes.io/pciBusID")
NUMA_ALIAS: Final = QualifiedName("dra.net/numaNode")
OVERRIDE: Final = "topologyOverride"
"""The attribute that names what of a device's place an operator states."""


@dataclass(frozen=True, slots=True)
class StatedPlace:
    """What an operator says of a function's place. Shape: what is None stays as the kernel says it."""

    numa_node: int | None = None
    pcie_root: str | None = None
    pcie_root_port: Bdf | None = None
    pcie_switch: Bdf | None = None

    @property
    def words(self) -> Mapping[str, str | int]:
        """Return what is said, by the names of the attributes without their domains."""
        found = {
            "numaNode": self.numa_node,
            "pcieRoot": self.pcie_root,
            "pcieRootPort": self.pcie_root_port,
            "pcieSwitch": self.pcie_switch,
        }
        return {key: value for key, value in found.items() if value is not None}

    def on(self, function: PciFunction) -> PciFunction:
        """Return a function at this place."""
        path = function.path
        return replace(
            function,
            numa_node=function.numa_node if self.numa_node is None else self.numa_node,
            path=PciePath(
                self.pcie_root or path.root_complex,
                self.pcie_root_port or path.root_port,
                (self.pcie_switch,) if self.pcie_switch else path.switches,
            ),
            stated=tuple(self.words),
        )


def topology_attributes(function: PciFunction | None, driver: str) -> dict[QualifiedName, AttributeValue]:
    """Return the topology attributes of a function, without its own address."""
    if function is None:
        return {}
    path = function.path
    found: dict[QualifiedName, AttributeValue | None] = {
        PCIE_ROOT: path.root_complex if is_root_complex(path.root_complex or "") else None,
        NUMA_NODE: function.numa_node,
        NUMA_ALIAS: function.numa_node,
        qualified("pcieRootPort", driver): path.root_port,
    }
    known = {name: value for name, value in found.items() if value is not None}
    return (
        known | switch_attributes(path.switches, driver) | dict(override_attribute(function.stated, driver))
    )


def switch_attributes(switches: Sequence[Bdf], driver: str) -> dict[QualifiedName, AttributeValue]:
    """Return the attributes of the switches above a device, the topmost first; nothing without a switch.

    Five addresses fit into one text; of more levels, which no machine is known to have, the nearest are left
    out.
    """
    if not switches:
        return {}
    longest = (_LONGEST_TEXT + 1) // (len(switches[0]) + 1)
    return {
        qualified(SWITCH, driver): switches[0],
        qualified(SWITCH_PATH, driver): "/".join(switches[:longest]),
    }


def override_attribute(stated: Iterable[str], driver: str) -> Mapping[QualifiedName, AttributeValue]:
    """Return the attribute that names what an operator states of a place, nothing where that is nothing."""
    named = ",".join(sorted(stated))
    return {qualified(OVERRIDE, driver): named} if named else {}


def is_root_complex(text: str) -> bool:
    """Whether a text names a root complex as the attribute must: ``pci0000:3a``."""
    return _STANDARD_ROOT.fullmatch(text) is not None


def direct_attribute(
    function: PciFunction | None, driver: str, among: Collection[Bdf] | None = None
) -> Mapping[QualifiedName, AttributeValue]:
    """Return the nearest switch, by which GPUs and data-direct functions are matched; nothing if unknown.

    Shape: ``function`` is a data-direct one, or a GPU's; ``among`` the switches that count, None for any.
    """
    switches = function.path.switches if function is not None else ()
    if not switches or (among is not None and switches[-1] not in among):
        return {}
    return {qualified("dataDirectSwitch", driver): switches[-1]}


def address_attribute(function: PciFunction | None) -> Mapping[QualifiedName, AttributeValue]:
    """Return the function's address if it has the standard form (four-digit domain)."""
    if function is None or not _STANDARD_BDF.fullmatch(function.bdf):
        return {}
    return {PCI_BUS_ID: function.bdf}


def expendable(driver: str) -> tuple[QualifiedName, ...]:
    """Return the attributes to leave out of a device that has too many attributes and capacities, in order.

    First those that repeat another attribute, then those of the parent, then those rarely selected by. A root
    port repeats the topmost switch, where there is one; only such a device has a path of switches.
    Source: docs/decisions/0006-attribute-budget.md.
    """
    own = ("pcieRootPort", "brand", "parentMinor", "architecture", SWITCH_PATH, SWITCH)
    first = (qualified(own[0], driver), NUMA_ALIAS, PCI_BUS_ID)
    return (*first, *(qualified(key, driver) for key in own[1:]))
