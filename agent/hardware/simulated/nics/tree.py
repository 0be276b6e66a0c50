"""Renders the NICs of a tree: functions, their drivers and IOMMU groups, network and RDMA devices.

Views enter, files are created and removed. Values that the node file does not have (hardware addresses,
GUIDs) are derived from the PCI address, so they never change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from agent.hardware.simulated.devices import Nic
from agent.hardware.simulated.files import Files
from agent.hardware.simulated.nics.functions import VFIO, Function, digest
from agent.hardware.simulated.nics.views import View
from agent.hardware.simulated.pci_tree import render_function
from agent.hardware.simulated.tree import routing_id

_CLASS: Final = {"ethernet": "020000", "infiniband": "020700"}
_ARPHRD: Final = {"ethernet": 1, "infiniband": 32}
_LAYER: Final = {"ethernet": "Ethernet", "infiniband": "InfiniBand"}
_LANES: Final = {50: "1X HDR", 100: "4X EDR", 200: "4X HDR", 400: "4X NDR", 800: "4X XDR"}
_RDMA_MAJOR: Final = 231
_FIRST_UMAD, _FIRST_ISSM, _FIRST_VERBS = 0, 64, 192
_VFIO_MAJOR: Final = 241
_IOMMUFD_MAJOR: Final = 510
_ROUTES_HEAD: Final = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
_GROUPS: Final = "sys/kernel/iommu_groups"
_MISC: Final = {"vfio/vfio": ("vfio", "10:196"), "iommu": ("iommu", "10:124")}


def render_nics(files: Files, nics: Sequence[Nic], views: Mapping[str, View]) -> None:
    """Create everything that the views show and remove all else, whatever the files show now."""
    for nic in nics:
        _render_sriov(files, nic)
        _remove_strays(files, nic, views)
    if views:
        files.write("sys/class/misc/rdma_cm/dev", "10:58\n")
        files.character_device("dev/infiniband/rdma_cm")
        for path, (name, numbers) in _MISC.items():
            files.write(f"sys/class/misc/{name}/dev", f"{numbers}\n")
            files.character_device(f"dev/{path}")
    _remove_stale(files, views)
    follow_nics(files, nics, {}, views)


def follow_nics(
    files: Files, nics: Iterable[Nic], before: Mapping[str, View], after: Mapping[str, View]
) -> None:
    """Create and remove what differs between two views of some NICs.

    ``sriov_numvfs`` changes last, as in the kernel.
    """
    for bdf, view in before.items():
        if bdf not in after:
            _remove_function(files, view)
    for bdf, view in after.items():
        if before.get(bdf) != view:
            _render(files, before.get(bdf), view)
    _follow_vfio_groups(files, _vfio_groups(before), _vfio_groups(after))
    for nic in nics:
        if nic.form.total_vfs:
            vfs = sum(bdf in after for bdf in nic.vf_addresses)
            files.write(f"{nic.site.folder}/sriov_numvfs", f"{vfs}\n")


def render_routes(files: Files, names: Iterable[str]) -> None:
    """Create the kernel's list of routes: each uplink of the node has a default route."""
    rows = (f"{name}\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" for name in names)
    files.write("proc/net/route", _ROUTES_HEAD + "".join(rows))


def render_vfio_driver(files: Files, is_there: bool) -> None:
    """Create or remove the folder of the VFIO driver."""
    if is_there:
        files.folder(f"sys/bus/pci/drivers/{VFIO}")
    else:
        files.remove(f"sys/bus/pci/drivers/{VFIO}")


def _remove_strays(files: Files, nic: Nic, views: Mapping[str, View]) -> None:
    """Remove the VFs that a process left when it was killed while it rendered."""
    for index in range(nic.form.total_vfs):
        stray = Function(nic, index)
        if stray.bdf not in views and files.exists(stray.folder):
            for name in files.names(f"{stray.folder}/net"):
                files.remove(f"sys/class/net/{name}")
            _remove_function(files, View(stray, None, None, None, False, None))


def _remove_stale(files: Files, views: Mapping[str, View]) -> None:
    """Remove links, groups and nodes of an earlier state."""
    for group in files.names(_GROUPS):
        members = {view.function.bdf for view in views.values() if str(view.group) == group}
        for name in files.names(f"{_GROUPS}/{group}/devices"):
            if name not in members:
                files.remove(f"{_GROUPS}/{group}/devices/{name}")
        if not members:
            files.remove(f"{_GROUPS}/{group}")
    for view in views.values():
        own = view.link.name if view.link else None
        for name in files.names(f"{view.function.folder}/net"):
            if name != own:
                files.remove(f"sys/class/net/{name}")
                files.remove(f"{view.function.folder}/net/{name}")
    groups = frozenset(int(name) for name in files.names("sys/class/vfio"))
    _follow_vfio_groups(files, groups, _vfio_groups(views))


def _vfio_groups(views: Mapping[str, View]) -> frozenset[int]:
    return frozenset(view.group for view in views.values() if view.is_vfio and view.group is not None)


def _follow_vfio_groups(files: Files, before: frozenset[int], after: frozenset[int]) -> None:
    for group in before - after:
        files.remove(f"sys/class/vfio/{group}")
        files.remove(f"dev/vfio/{group}")
    for group in after - before:
        files.write(f"sys/class/vfio/{group}/dev", f"{_VFIO_MAJOR}:{group}\n")
        files.character_device(f"dev/vfio/{group}")


def _render_sriov(files: Files, nic: Nic) -> None:
    if nic.form.total_vfs:
        folder, offset = nic.site.folder, routing_id(nic.vf_address(0)) - routing_id(nic.bdf)
        files.write(f"{folder}/sriov_totalvfs", f"{nic.form.total_vfs}\n")
        files.write(f"{folder}/sriov_offset", f"{offset}\n")
        files.write(f"{folder}/sriov_stride", "1\n")


def _render(files: Files, before: View | None, view: View) -> None:
    function = view.function
    if before is None:
        _render_identity(files, function)
    _render_link(files, view, before)
    _render_group(files, view, before)
    (_render_rdma if view.has_rdma else _remove_rdma)(files, function)
    (_render_vfio if view.is_vfio else _remove_vfio)(files, function)
    files.write(f"{function.folder}/driver_override", f"{view.override or '(null)'}\n")
    if view.driver is None:
        files.remove(f"{function.folder}/driver")
    else:
        files.folder(f"sys/bus/pci/drivers/{view.driver}")
        files.link(f"{function.folder}/driver", f"sys/bus/pci/drivers/{view.driver}")
    if before is None and function.index is not None:
        files.link(f"{function.nic.site.folder}/virtfn{function.index}", function.folder)


def _render_identity(files: Files, function: Function) -> None:
    nic = function.nic
    is_pf = function.index is None
    if not is_pf:
        files.link(f"{function.folder}/physfn", nic.site.folder)
    ids = (nic.model.vendor_id, nic.model.pf_device_id if is_pf else nic.model.vf_device_id)
    render_function(files, function.site, ids, _CLASS[nic.form.link], None)


def _render_link(files: Files, view: View, before: View | None) -> None:
    function, link = view.function, view.link
    old = before.link if before else None
    if old is not None and (link is None or link.name != old.name):
        files.remove(f"sys/class/net/{old.name}")
        files.remove(f"{function.folder}/net")
    if link is None:
        return
    nic, net = function.nic, f"{function.folder}/net/{link.name}"
    files.write(f"{net}/address", f"{link.mac}\n")
    files.write(f"{net}/type", f"{_ARPHRD[nic.form.link]}\n")
    files.write(f"{net}/operstate", "up\n" if link.up else "down\n")
    files.write(f"{net}/mtu", f"{link.mtu}\n")
    files.write(f"{net}/ifindex", f"{function.link_index}\n")
    if function.index is None and nic.form.eswitch is not None:
        files.write(f"{net}/compat/devlink/mode", f"{nic.form.eswitch}\n")
    if nic.model.speed_gbps is not None:
        files.write(f"{net}/speed", f"{nic.model.speed_gbps * 1000 if link.up else -1}\n")
    files.link(f"{net}/device", function.folder)
    files.link(f"sys/class/net/{link.name}", net)


def _render_group(files: Files, view: View, before: View | None) -> None:
    folder, bdf = view.function.folder, view.function.bdf
    if before is not None and before.group not in (None, view.group):
        _leave_group(files, before)
    if view.group is not None:
        group = f"{_GROUPS}/{view.group}"
        files.write(f"{group}/type", "DMA-FQ\n")
        files.link(f"{group}/devices/{bdf}", folder)
        files.link(f"{folder}/iommu_group", group)


def _leave_group(files: Files, view: View) -> None:
    group = f"{_GROUPS}/{view.group}"
    files.remove(f"{view.function.folder}/iommu_group")
    files.remove(f"{group}/devices/{view.function.bdf}")
    if not files.names(f"{group}/devices"):
        files.remove(group)


def _render_rdma(files: Files, function: Function) -> None:
    nic = function.nic
    rdma = f"{function.folder}/infiniband/{function.rdma_device}"
    files.write(f"{rdma}/node_type", "1: CA\n")
    # All functions of a card report the card's GUID.
    files.write(f"{rdma}/sys_image_guid", f"{digest(nic.bdf.rpartition('.')[0], 8, ':', 2)}\n")
    files.write(f"{rdma}/ports/1/state", "4: ACTIVE\n")
    files.write(f"{rdma}/ports/1/link_layer", f"{_LAYER[nic.form.link]}\n")
    if nic.model.speed_gbps is not None:
        rate = f"{nic.model.speed_gbps} Gb/sec ({_LANES[nic.model.speed_gbps]})"
        files.write(f"{rdma}/ports/1/rate", f"{rate}\n")
    for kind, name, minor in _character_devices(function):
        folder = f"{function.folder}/{kind}/{name}"
        files.write(f"{folder}/ibdev", f"{function.rdma_device}\n")
        files.write(f"{folder}/dev", f"{_RDMA_MAJOR}:{minor}\n")
        files.character_device(f"dev/infiniband/{name}")
        files.link(f"{folder}/device", function.folder)
        files.link(f"sys/class/{kind}/{name}", folder)
    files.link(f"{rdma}/device", function.folder)
    files.link(f"sys/class/infiniband/{function.rdma_device}", rdma)


def _character_devices(function: Function) -> Iterator[tuple[str, str, int]]:
    """Yield class, name and minor number; only InfiniBand has a subnet manager's device."""
    number = function.number
    yield "infiniband_verbs", f"uverbs{number}", _FIRST_VERBS + number
    yield "infiniband_mad", f"umad{number}", _FIRST_UMAD + number
    if function.nic.form.link == "infiniband":
        yield "infiniband_mad", f"issm{number}", _FIRST_ISSM + number


def _remove_rdma(files: Files, function: Function) -> None:
    if not files.exists(f"{function.folder}/infiniband"):
        return
    files.remove(f"sys/class/infiniband/{function.rdma_device}")
    for kind, name, _ in _character_devices(function):
        files.remove(f"sys/class/{kind}/{name}")
        files.remove(f"dev/infiniband/{name}")
        files.remove(f"{function.folder}/{kind}")
    files.remove(f"{function.folder}/infiniband")


def _render_vfio(files: Files, function: Function) -> None:
    own = f"{function.folder}/vfio-dev/vfio{function.number}"
    files.write(f"{own}/dev", f"{_IOMMUFD_MAJOR}:{function.number}\n")
    files.character_device(f"dev/vfio/devices/vfio{function.number}")


def _remove_vfio(files: Files, function: Function) -> None:
    if files.exists(f"{function.folder}/vfio-dev"):
        files.remove(f"dev/vfio/devices/vfio{function.number}")
        files.remove(f"{function.folder}/vfio-dev")


def _remove_function(files: Files, view: View) -> None:
    function = view.function
    files.remove(f"{function.nic.site.folder}/virtfn{function.index}")
    if view.link is not None:
        files.remove(f"sys/class/net/{view.link.name}")
    _remove_rdma(files, function)
    _remove_vfio(files, function)
    if view.group is not None:
        _leave_group(files, view)
    files.remove(f"sys/bus/pci/devices/{function.bdf}")
    files.remove(function.folder)
