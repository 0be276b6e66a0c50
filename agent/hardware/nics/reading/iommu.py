"""Finds a function's IOMMU group, all its members, and the nodes of VFIO."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.errors import NotThereYet
from agent.hardware.nics.reading.rdma import device_node
from agent.hardware.nics.types import IommuGroup, IommuMember, VfioNodes
from agent.hardware.pcie import is_address
from agent.hardware.types import Bdf, DeviceNode

_NO_IOMMU: Final = "vfio-noiommu"


def iommu_group(root: Path, bdf: Bdf) -> IommuGroup | None:
    """Return the group of a function, None if it has none: no IOMMU, or switched off."""
    name = attributes.link_name(root / f"sys/bus/pci/devices/{bdf}/iommu_group")
    if name is None or not name.isdecimal():
        return None
    folder = root / "sys/kernel/iommu_groups" / name
    members = (Bdf(each) for each in attributes.names(folder / "devices") if is_address(each))
    return IommuGroup(
        number=int(name),
        kind=attributes.text(folder / "type"),
        members=tuple(IommuMember(each, _driver(root, each)) for each in members),
        has_iommu=attributes.text(folder / "name") != _NO_IOMMU,
    )


def iommu_groups(root: Path, drivers: Mapping[Bdf, str | None]) -> Mapping[Bdf, IommuGroup]:
    """Return the groups of the functions whose drivers are known.

    Each function's own link tells its group, so the folder of no group is listed.
    Raises: NoPermission, HardwareFault if the functions cannot be listed.
    """
    members: defaultdict[str, list[Bdf]] = defaultdict(list)
    for name, said in attributes.links(root / "sys/bus/pci/devices", "iommu_group"):
        group = said.rpartition("/")[2]
        if group.isdecimal() and is_address(name):
            members[group].append(Bdf(name))
    found: dict[Bdf, IommuGroup] = {}
    for group, bdfs in members.items():
        known = [bdf for bdf in bdfs if bdf in drivers]
        if known:
            found.update(dict.fromkeys(known, _group(root, group, bdfs, drivers)))
    return found


def _group(root: Path, name: str, bdfs: list[Bdf], drivers: Mapping[Bdf, str | None]) -> IommuGroup:
    members = tuple(
        [IommuMember(bdf, drivers[bdf] if bdf in drivers else _driver(root, bdf)) for bdf in bdfs]
    )
    # Only VFIO makes groups without an IOMMU, for functions that it has. Source: Linux, drivers/vfio/group.c.
    for member in members:
        if member.driver is not None and "vfio" in member.driver:
            said = attributes.text(root / "sys/kernel/iommu_groups" / name / "name")
            return IommuGroup(int(name), None, members, has_iommu=said != _NO_IOMMU)
    return IommuGroup(int(name), None, members)


def vfio_nodes(root: Path, bdf: Bdf) -> VfioNodes:
    """Return the nodes for a function that has a VFIO driver.

    In no-IOMMU mode the host's name of the group's node is ``noiommu-<n>``.
    Raises: NotThereYet while VFIO has not made them.
    """
    group = iommu_group(root, bdf)
    subject = f"PCI function {bdf}"
    if group is None:
        raise NotThereYet("find VFIO's nodes", subject, "it has no IOMMU group")
    name = str(group.number) if group.has_iommu else f"noiommu-{group.number}"
    container = device_node(root, root / "sys/class/misc/vfio", "/dev/vfio/vfio")
    own = device_node(root, root / f"sys/class/vfio/{name}", f"/dev/vfio/{group.number}", f"/dev/vfio/{name}")
    if container is None or own is None:
        missing = "/dev/vfio/vfio" if container is None else f"/dev/vfio/{name}"
        raise NotThereYet("find VFIO's nodes", subject, f"there is no {missing} (yet)")
    return VfioNodes(container, own, _iommufd(root, bdf))


def _iommufd(root: Path, bdf: Bdf) -> tuple[DeviceNode, DeviceNode] | None:
    folder = root / f"sys/bus/pci/devices/{bdf}/vfio-dev"
    control = device_node(root, root / "sys/class/misc/iommu", "/dev/iommu")
    for name in attributes.names(folder):
        node = device_node(root, folder / name, f"/dev/vfio/devices/{name}")
        if node is not None and control is not None:
            return control, node
    return None


def _driver(root: Path, bdf: Bdf) -> str | None:
    return attributes.link_name(root / f"sys/bus/pci/devices/{bdf}/driver")
