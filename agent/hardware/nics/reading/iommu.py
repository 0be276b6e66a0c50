"""Finds a function's IOMMU group, all its members, and the nodes of VFIO."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.errors import NotThereYet
from agent.hardware.nics.reading.rdma import device_node
from agent.hardware.nics.types import IommuGroup, IommuMember, VfioNodes
from agent.hardware.pcie import is_address
from agent.hardware.reuse import READ_ANEW, Reuse
from agent.hardware.types import Bdf, DeviceNode

_FUNCTIONS: Final = "sys/bus/pci/devices"
_GROUPS: Final = "sys/kernel/iommu_groups"
_NO_IOMMU: Final = "vfio-noiommu"


def iommu_group(root: Path, bdf: Bdf) -> IommuGroup | None:
    """Return the group of a function, None if it has none: no IOMMU, or switched off."""
    name = attributes.link_name(root / f"sys/bus/pci/devices/{bdf}/iommu_group")
    if name is None or not name.isdecimal():
        return None
    folder = root / _GROUPS / name
    members = (Bdf(each) for each in attributes.names(folder / "devices") if is_address(each))
    return IommuGroup(
        number=int(name),
        kind=attributes.text(folder / "type"),
        members=tuple(IommuMember(each, _driver(root, each)) for each in members),
        has_iommu=attributes.text(folder / "name") != _NO_IOMMU,
    )


def iommu_groups(
    root: Path, drivers: Mapping[Bdf, str | None], reuse: Reuse = READ_ANEW
) -> Mapping[Bdf, IommuGroup]:
    """Return the groups of the functions whose drivers are known.

    Each function's own link tells its group, so the folder of no group is listed. A function gets its group
    when it comes into being; only VFIO makes another one later, without an IOMMU.
    Shape: nobody changes ``drivers`` later.
    Raises: NoPermission, HardwareFault if the functions cannot be listed.
    """
    evidence = reuse.evidence((root / _FUNCTIONS, root / _GROUPS))
    members = reuse.read("IOMMU groups", evidence, lambda: _members(root))
    wanted, others = reuse.made("IOMMU groups", (members, drivers), lambda: _wanted(members, drivers))
    of_others = {bdf: _driver(root, bdf) for bdf in others}
    of_all = reuse.made("drivers in IOMMU groups", (drivers, of_others), lambda: {**drivers, **of_others})
    of_vfio = reuse.made("IOMMU groups of VFIO", (wanted, of_all), lambda: _of_vfio(wanted, of_all))
    bare = {name for name in of_vfio if attributes.text(root / _GROUPS / name / "name") == _NO_IOMMU}
    of = (wanted, of_all, others, bare)
    return reuse.made("IOMMU groups of functions", of, lambda: _groups(*of))


def _members(root: Path) -> Mapping[str, tuple[Bdf, ...]]:
    members: defaultdict[str, list[Bdf]] = defaultdict(list)
    for name, said in attributes.links(root / _FUNCTIONS, "iommu_group"):
        group = said.rpartition("/")[2]
        if group.isdecimal() and is_address(name):
            members[group].append(Bdf(name))
    return {group: tuple(bdfs) for group, bdfs in members.items()}


def _wanted(
    members: Mapping[str, tuple[Bdf, ...]], drivers: Mapping[Bdf, str | None]
) -> tuple[Mapping[str, tuple[Bdf, ...]], frozenset[Bdf]]:
    """Return the groups that have some of the functions, and their members that are none of these."""
    wanted = {name: bdfs for name, bdfs in members.items() if not drivers.keys().isdisjoint(bdfs)}
    return wanted, frozenset(bdf for bdfs in wanted.values() for bdf in bdfs if bdf not in drivers)


def _of_vfio(groups: Mapping[str, Iterable[Bdf]], drivers: Mapping[Bdf, str | None]) -> tuple[str, ...]:
    """Return the groups that may have no IOMMU: only VFIO makes such groups, for functions that it has.

    Source: Linux, drivers/vfio/group.c.
    """
    return tuple(name for name, bdfs in groups.items() if any("vfio" in (drivers[bdf] or "") for bdf in bdfs))


def _groups(
    wanted: Mapping[str, tuple[Bdf, ...]],
    drivers: Mapping[Bdf, str | None],
    others: Collection[Bdf],
    bare: Collection[str],
) -> Mapping[Bdf, IommuGroup]:
    """Return the group of each member, without the members that nobody asked for."""
    found: dict[Bdf, IommuGroup] = {}
    for name, bdfs in wanted.items():
        members = tuple([IommuMember(bdf, drivers[bdf]) for bdf in bdfs])
        group = IommuGroup(int(name), None, members, has_iommu=name not in bare)
        found.update((bdf, group) for bdf in bdfs if bdf not in others)
    return found


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
