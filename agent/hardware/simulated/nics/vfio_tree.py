"""Renders IOMMU groups and the nodes of VFIO. Takes views; files are created and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from agent.hardware.simulated.binding_links import render_binding
from agent.hardware.simulated.files import Files
from agent.hardware.simulated.nics.functions import VFIO, Function
from agent.hardware.simulated.nics.views import View

_VFIO_MAJOR: Final = 241
_IOMMUFD_MAJOR: Final = 510
_GROUPS: Final = "sys/kernel/iommu_groups"
_MISC: Final = {"vfio/vfio": ("vfio", "10:196"), "iommu": ("iommu", "10:124")}


def render_vfio_control(files: Files) -> None:
    """Create the nodes that all functions on VFIO share."""
    for path, (name, numbers) in _MISC.items():
        files.write(f"sys/class/misc/{name}/dev", f"{numbers}\n")
        files.character_device(f"dev/{path}")


def _vfio_groups(views: Mapping[str, View]) -> frozenset[int]:
    return frozenset(view.group for view in views.values() if view.is_vfio and view.group is not None)


def follow_vfio_groups(files: Files, before: Mapping[str, View], after: Mapping[str, View]) -> None:
    """Create and remove the nodes of the groups that have a function on VFIO."""
    _follow_nodes(files, _vfio_groups(before), _vfio_groups(after))


def remove_stale_groups(files: Files, views: Mapping[str, View]) -> None:
    """Remove groups, members and nodes of an earlier state."""
    for group in files.names(_GROUPS):
        members = {view.function.bdf for view in views.values() if str(view.group) == group}
        for name in files.names(f"{_GROUPS}/{group}/devices"):
            if name not in members:
                files.remove(f"{_GROUPS}/{group}/devices/{name}")
        if not members:
            files.remove(f"{_GROUPS}/{group}")
    groups = frozenset(int(name) for name in files.names("sys/class/vfio"))
    _follow_nodes(files, groups, _vfio_groups(views))


def _follow_nodes(files: Files, before: frozenset[int], after: frozenset[int]) -> None:
    for group in before - after:
        files.remove(f"sys/class/vfio/{group}")
        files.remove(f"dev/vfio/{group}")
    for group in after - before:
        files.write(f"sys/class/vfio/{group}/dev", f"{_VFIO_MAJOR}:{group}\n")
        files.character_device(f"dev/vfio/{group}")


def render_group(files: Files, view: View, before: View | None) -> None:
    """Put a function into its IOMMU group; take it from the one it had before."""
    folder, bdf = view.function.folder, view.function.bdf
    if before is not None and before.group not in (None, view.group):
        leave_group(files, before)
    if view.group is None:
        files.remove(f"{folder}/iommu_group")
    else:
        group = f"{_GROUPS}/{view.group}"
        files.write(f"{group}/type", "DMA-FQ\n")
        files.link(f"{group}/devices/{bdf}", folder)
        files.link(f"{folder}/iommu_group", group)


def leave_group(files: Files, view: View) -> None:
    """Take a function from its IOMMU group; an empty group disappears."""
    group = f"{_GROUPS}/{view.group}"
    files.remove(f"{view.function.folder}/iommu_group")
    files.remove(f"{group}/devices/{view.function.bdf}")
    if not files.names(f"{group}/devices"):
        files.remove(group)


def render_vfio(files: Files, function: Function) -> None:
    """Create the node of iommufd for a function that VFIO has."""
    own = f"{function.folder}/vfio-dev/vfio{function.number}"
    files.write(f"{own}/dev", f"{_IOMMUFD_MAJOR}:{function.number}\n")
    files.character_device(f"dev/vfio/devices/vfio{function.number}")


def remove_vfio(files: Files, function: Function) -> None:
    """Remove that node, if there is one."""
    if files.exists(f"{function.folder}/vfio-dev"):
        files.remove(f"dev/vfio/devices/vfio{function.number}")
        files.remove(f"{function.folder}/vfio-dev")


def render_vfio_driver(files: Files, is_there: bool, holders: Callable[[], Iterable[Function]]) -> None:
    """Create or remove the folder of the VFIO driver, with its links to the functions that it holds."""
    folder = f"sys/bus/pci/drivers/{VFIO}"
    if not is_there:
        files.remove(folder)
    elif not files.exists(folder):
        files.folder(folder)
        for function in holders():
            render_binding(files, function.folder, VFIO)
