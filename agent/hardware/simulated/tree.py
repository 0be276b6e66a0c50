"""The PCIe tree of a node file, laid out flat: one ``Site`` per function, from the root down.

Takes a document; returns sites, each with its folder in sysfs and its place in the node file. ``checks.py``
checks the form and uniqueness of their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from agent.hardware.simulated.schema import (
    DataDirectForm,
    Document,
    GpuForm,
    NicForm,
    PortForm,
    SwitchForm,
)
from agent.hardware.types import Bdf, normal_bdf


class PortType(IntEnum):
    """The type of a PCIe function. Source: PCI Express Capabilities Register, Device/Port Type."""

    ENDPOINT = 0
    ROOT_PORT = 4
    SWITCH_UPSTREAM = 5
    SWITCH_DOWNSTREAM = 6


@dataclass(frozen=True, slots=True)
class Site:
    """One function of the tree.

    Shape: ``field`` is the place of its address in the node file; ``folder`` is relative to the root, such
           as ``sys/devices/pci0000:00/0000:00:01.0``; ``numa_node`` is None if the kernel says -1.
    """

    field: str
    bdf: Bdf
    folder: str
    numa_node: int | None
    port_type: PortType
    form: PortForm | SwitchForm | GpuForm | NicForm | DataDirectForm


def sites(document: Document) -> Iterator[Site]:
    """Yield every function of the tree, each bridge before what lies below it."""
    for at, complex_ in enumerate(document.pci):
        folder = "/".join(filter(None, ("sys/devices", complex_.under, complex_.root_complex)))
        numa_node = complex_.numa_node
        for number, port in enumerate(complex_.root_ports):
            yield from _port(port, f"pci[{at}].root_ports[{number}]", folder, numa_node, PortType.ROOT_PORT)
        for number, form in enumerate(complex_.below):
            yield _endpoint(form, f"pci[{at}].below[{number}]", folder, numa_node)


def _port(port: PortForm, field: str, above: str, numa_node: int | None, kind: PortType) -> Iterator[Site]:
    folder = f"{above}/{port.port}"
    yield Site(f"{field}.port", Bdf(port.port), folder, numa_node, kind, port)
    for at, form in enumerate(port.below):
        below = f"{field}.below[{at}]"
        match form:
            case SwitchForm():
                yield from _switch(form, below, folder, numa_node)
            case GpuForm() | NicForm() | DataDirectForm():
                yield _endpoint(form, below, folder, numa_node)


def _endpoint(
    form: GpuForm | NicForm | DataDirectForm, field: str, above: str, numa_node: int | None
) -> Site:
    return Site(f"{field}.bdf", Bdf(form.bdf), f"{above}/{form.bdf}", numa_node, PortType.ENDPOINT, form)


def _switch(switch: SwitchForm, field: str, above: str, numa_node: int | None) -> Iterator[Site]:
    folder = f"{above}/{switch.upstream}"
    upstream = Bdf(switch.upstream)
    yield Site(f"{field}.upstream", upstream, folder, numa_node, PortType.SWITCH_UPSTREAM, switch)
    for at, port in enumerate(switch.downstream):
        yield from _port(port, f"{field}.downstream[{at}]", folder, numa_node, PortType.SWITCH_DOWNSTREAM)


def routing_id(bdf: Bdf) -> int:
    """Return the routing id of a function: its number within its domain."""
    _, bus, rest = bdf.split(":")
    device, function = rest.split(".")
    return int(bus, 16) << 8 | int(device, 16) << 3 | int(function)


def shifted(bdf: Bdf, by: int) -> Bdf:
    """Return the address whose routing id is higher by ``by``.

    Raises: ValueError beyond the last bus of the domain.
    """
    number = routing_id(bdf) + by
    return normal_bdf(f"{bdf.partition(':')[0]}:{number >> 8:02x}:{number >> 3 & 31:02x}.{number & 7}")
