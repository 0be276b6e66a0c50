"""Renders the PCI part of sysfs: bridges, GPUs, NUMA nodes. Takes sites; files are created.

Bridges have the ids of QEMU's virtual ports (root port 1b36:000c, switch 104c:8232 and 8233), because a node
file does not say the models of its bridges.
"""

from __future__ import annotations

from typing import Final

from agent.hardware.simulated.binding_links import render_binding
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.files import Files
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.schema import DataDirectForm, NumaNode
from agent.hardware.simulated.tree import PortType, Site
from agent.hardware.vital_product_data import SERIAL, product_data_of

_BRIDGE_IDS: Final = {
    PortType.ROOT_PORT: ("1b36", "000c"),
    PortType.SWITCH_UPSTREAM: ("104c", "8232"),
    PortType.SWITCH_DOWNSTREAM: ("104c", "8233"),
}
_BRIDGE_CLASS: Final = "060400"
_GPU_CLASS: Final = "030200"
_DATA_DIRECT_IDS: Final = ("15b3", "2100")
_DATA_DIRECT_CLASS: Final = "020800"


def render_pci(files: Files, node: NodeFile) -> None:
    """Create the folders of all bridges, GPUs and NUMA nodes."""
    for numa_node in node.document.numa:
        _numa_node(files, numa_node)
    for site in node.bridges:
        vendor, device = _BRIDGE_IDS[site.port_type]
        render_function(files, site, (vendor, device), _BRIDGE_CLASS, "pcieport")
    for site in node.direct:
        _data_direct(files, node, site)
    for card in node.cards:
        _gpu(files, card, "nvidia" if node.document.driver else None)


def render_function(
    files: Files, site: Site, ids: tuple[str, str], class_code: str, driver: str | None
) -> None:
    """Create the folder of one PCI function, then the link that lists it."""
    folder = site.folder
    files.write(f"{folder}/vendor", f"0x{ids[0]}\n")
    files.write(f"{folder}/device", f"0x{ids[1]}\n")
    files.write(f"{folder}/class", f"0x{class_code}\n")
    files.write(f"{folder}/numa_node", f"{-1 if site.numa_node is None else site.numa_node}\n")
    files.write(f"{folder}/config", configuration_space(ids, class_code, site.port_type))
    if driver is not None:
        render_binding(files, folder, driver)
    files.link(f"sys/bus/pci/devices/{site.bdf}", folder)


def configuration_space(ids: tuple[str, str], class_code: str, port_type: PortType) -> bytes:
    """Return the 256 bytes of a function's configuration space, with its PCI Express capability.

    Source: PCI Local Bus Specification, type 0 and 1 headers; PCI Express Capabilities Register.
    """
    space = bytearray(256)
    for at, digits in ((0x00, ids[0]), (0x02, ids[1]), (0x09, class_code)):
        value = bytes.fromhex(digits)[::-1]
        space[at : at + len(value)] = value
    space[0x06] = 0x10  # the status register: there is a capability list
    space[0x0E] = 0 if port_type is PortType.ENDPOINT else 1
    space[0x34] = 0x40
    space[0x40:0x44] = bytes((0x10, 0x00, port_type << 4 | 2, 0x00))
    return bytes(space)


def _gpu(files: Files, card: Card, driver: str | None) -> None:
    model = card.model
    if model.subsystem is not None:
        files.write(f"{card.site.folder}/subsystem_vendor", f"0x{model.subsystem[0]}\n")
        files.write(f"{card.site.folder}/subsystem_device", f"0x{model.subsystem[1]}\n")
    render_function(files, card.site, (model.pci_vendor_id, model.pci_device_id), _GPU_CLASS, driver)


def _data_direct(files: Files, node: NodeFile, site: Site) -> None:
    """Create a data-direct function; it and its NIC tell the serial number of one card."""
    render_function(files, site, _DATA_DIRECT_IDS, _DATA_DIRECT_CLASS, None)
    assert isinstance(site.form, DataDirectForm)
    serial = product_data_of({SERIAL: f"MT{site.form.nic}"})
    nic = next(one.site for one in node.nics if one.bdf == site.form.nic)
    for folder in (site.folder, nic.folder):
        files.write(f"{folder}/vpd", serial)


def _numa_node(files: Files, form: NumaNode) -> None:
    folder = f"sys/devices/system/node/node{form.node}"
    files.write(f"{folder}/distance", f"{' '.join(map(str, form.distances))}\n")
    files.write(f"{folder}/cpulist", f"{form.cpus}\n")
    if form.cpus:
        # One CPU shows the socket of its node; folders for all 256 would take a fifth of the time.
        first = form.cpus.partition(",")[0].partition("-")[0]
        files.write(f"sys/devices/system/cpu/cpu{first}/topology/physical_package_id", f"{form.socket}\n")
