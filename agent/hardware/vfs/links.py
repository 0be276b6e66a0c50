"""The VFs of a PF, read from the links below the PF's folder.

Takes the PF, its folder and the interfaces; returns values. What was read of the links is reused where the
caller's ``Reuse`` says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from agent.hardware import attributes
from agent.hardware.errors import HardwareError
from agent.hardware.interfaces import Interfaces
from agent.hardware.pcie import is_address
from agent.hardware.reuse import Evidence, Reuse
from agent.hardware.types import Bdf, PciFunction, Unreadable, VirtualFunction

VF_LINK: Final = re.compile(r"virtfn(\d+)")
"""The name of a PF's link to one of its VFs."""


class _Link(NamedTuple):
    """What a PF's link to one of its VFs leads to."""

    number: int
    bdf: Bdf
    driver: str | None


_Id = str | Unreadable | None


class VirtualFunctions(NamedTuple):
    """The VFs of a PF by number, those that exist and cannot be read, and the addresses of the others."""

    readable: tuple[VirtualFunction, ...]
    unreadable: tuple[Unreadable, ...]
    addresses: frozenset[Bdf]


def folders_of_drivers(sys: Path) -> Iterator[str]:
    """Yield the folders whose listings change when a function gets another driver.

    The kernel adds and removes a driver's link to a function together with the function's to the driver.
    Source: Linux, drivers/base/dd.c, driver_sysfs_add and driver_sysfs_remove.
    """
    drivers = f"{sys}/bus/pci/drivers"
    yield drivers
    for name in attributes.names(drivers):
        yield f"{drivers}/{name}"


def virtual_functions(
    folder: str, pf: PciFunction, interfaces: Interfaces, drivers: Evidence, reuse: Reuse
) -> VirtualFunctions:
    """Return the VFs of the PF in ``folder``.

    Shape: ``drivers`` is the evidence of the folders of drivers.
    Raises: NotFound, NoPermission, HardwareFault if the PF's folder cannot be listed.
    """
    evidence = reuse.evidence((folder,)).beside(drivers)
    links = reuse.read(f"links to VFs of {pf.bdf}", evidence, lambda: _links(folder))
    common = _common_id(folder)
    ids = tuple(common or _own_id(folder, pf, link) for link in links)
    is_infiniband = bool(links) and interfaces.link_type(pf.bdf) == "infiniband"
    lacking = frozenset(one.bdf for one in links if is_infiniband and interfaces.lacks_guid(one.bdf))
    of = (pf, links, ids, interfaces, lacking)
    return reuse.made(f"VFs of {pf.bdf}", of, lambda: _sorted_out(_described(*of)))


def _sorted_out(found: Iterable[VirtualFunction | Unreadable]) -> VirtualFunctions:
    vfs = tuple(found)
    readable = tuple([vf for vf in vfs if isinstance(vf, VirtualFunction)])
    unreadable = tuple([vf for vf in vfs if isinstance(vf, Unreadable)])
    return VirtualFunctions(readable, unreadable, frozenset(vf.function.bdf for vf in readable))


def _links(pf: str) -> tuple[_Link, ...]:
    """Return the VFs below a PF's folder with their drivers, by number: ``virtfn2`` before ``virtfn10``.

    A VF leads back to its PF. What does not is no VF of this PF, whatever the PF's link is called.
    """
    found, address = [], os.path.basename(pf)
    with attributes.OpenFolder(pf) as opened:
        for name in opened.names():
            bdf = attributes.last_part(opened.link(name)) if VF_LINK.fullmatch(name) else None
            if bdf is None or not is_address(bdf):
                continue
            if attributes.last_part(opened.link(f"{name}/physfn")) == address:
                driver = attributes.last_part(opened.link(f"{name}/driver"))
                found.append(_Link(int(name.removeprefix("virtfn")), Bdf(bdf), driver))
    return tuple(sorted(found, key=lambda link: link.number))


def _common_id(pf: str) -> str | None:
    """Return the device id of all VFs of a PF, None where the kernel does not tell it there (before 4.15)."""
    try:
        said = attributes.text(f"{pf}/sriov_vf_device")
        return f"{int(said or '', 16):04x}"
    except ValueError:
        return None


def _own_id(folder: str, pf: PciFunction, vf: _Link) -> _Id:
    """Return the device id that a VF itself tells, None if it has gone."""
    subject = f"PCI function {vf.bdf}"
    try:
        return attributes.required_text(f"{folder}/virtfn{vf.number}/device", subject).removeprefix("0x")
    except HardwareError as error:
        if not attributes.is_folder(f"{folder}/virtfn{vf.number}"):
            return None
        return Unreadable(f"VF {vf.number} of {pf.bdf}", str(error), bdf=vf.bdf)


def _described(
    pf: PciFunction,
    links: Iterable[_Link],
    ids: Iterable[_Id],
    interfaces: Interfaces,
    lacking: frozenset[Bdf],
) -> Iterator[VirtualFunction | Unreadable]:
    for link, own in zip(links, ids, strict=True):
        match own:
            case str():
                function = _function(pf, link, own)
                yield VirtualFunction(
                    index=link.number,
                    function=function,
                    netdev=interfaces.netdev(link.bdf),
                    rdma_device=interfaces.rdma_device(link.bdf),
                    has_guid=link.bdf not in lacking,
                )
            case Unreadable():
                yield own
            case None:
                continue


def _function(pf: PciFunction, vf: _Link, device_id: str) -> PciFunction:
    """Return one VF. What all VFs of a PF have in common with it is not read again for each of them.

    Source: Single Root I/O Virtualization 1.1, 3.4.1: vendor and class code are the PF's. Linux,
            drivers/pci/iov.c: a VF's parent is the PF's, so its place in the tree and its NUMA node are.
    """
    return PciFunction(
        bdf=vf.bdf,
        vendor_id=pf.vendor_id,
        device_id=device_id,
        class_code=pf.class_code,
        numa_node=pf.numa_node,
        path=pf.path,
        driver=vf.driver,
    )
