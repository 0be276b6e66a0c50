"""Renders the NICs of a tree: functions, their drivers and network devices.

Takes views; files are created and removed. Values that the node file does not have (hardware addresses,
GUIDs) are derived from the PCI address, so they never change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from agent.hardware.simulated.binding_links import remove_stale_bindings, render_binding
from agent.hardware.simulated.devices import Nic
from agent.hardware.simulated.files import Files
from agent.hardware.simulated.nics.functions import Function
from agent.hardware.simulated.nics.rdma_tree import (
    remove_rdma,
    remove_software_rdma,
    render_rdma,
    render_software_rdma,
)
from agent.hardware.simulated.nics.vfio_tree import (
    follow_vfio_groups,
    leave_group,
    remove_stale_groups,
    remove_vfio,
    render_group,
    render_vfio,
    render_vfio_control,
)
from agent.hardware.simulated.nics.views import View
from agent.hardware.simulated.pci_tree import render_function
from agent.hardware.simulated.tree import routing_id

_CLASS: Final = {"ethernet": "020000", "infiniband": "020700", "unspecified": "020000"}
_ARPHRD: Final = {"ethernet": 1, "infiniband": 32, "unspecified": 0xFFFE}
_ROUTES_HEAD: Final = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"


def render_nics(files: Files, nics: Sequence[Nic], views: Mapping[str, View]) -> None:
    """Create everything that the views show and remove all else, whatever the files show now."""
    for nic in nics:
        _render_sriov(files, nic)
        _remove_strays(files, nic, views)
    if views:
        files.write("sys/class/misc/rdma_cm/dev", "10:58\n")
        files.character_device("dev/infiniband/rdma_cm")
        render_vfio_control(files)
    _remove_stale(files, nics, views)
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
    follow_vfio_groups(files, before, after)
    for nic in nics:
        if nic.form.total_vfs:
            vfs = sum(bdf in after for bdf in nic.vf_addresses)
            files.write(f"{nic.site.folder}/sriov_numvfs", f"{vfs}\n")


def render_routes(files: Files, names: Iterable[str]) -> None:
    """Create the kernel's list of routes: each uplink of the node has a default route."""
    rows = (f"{name}\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" for name in names)
    files.write("proc/net/route", _ROUTES_HEAD + "".join(rows))


def _remove_strays(files: Files, nic: Nic, views: Mapping[str, View]) -> None:
    """Remove the VFs that a process left when it was killed while it rendered."""
    for index in range(nic.form.total_vfs):
        stray = Function(nic, index)
        if stray.bdf not in views and files.exists(stray.folder):
            for name in files.names(f"{stray.folder}/net"):
                files.remove(f"sys/class/net/{name}")
            _remove_function(files, View(stray, None, None, None, False, None))


def _remove_stale(files: Files, nics: Iterable[Nic], views: Mapping[str, View]) -> None:
    """Remove links, groups and nodes of an earlier state."""
    possible = {bdf for nic in nics for bdf in (nic.bdf, *nic.vf_addresses)}
    remove_stale_bindings(files, possible, {bdf: view.driver for bdf, view in views.items()})
    for view in views.values():
        own = view.link.name if view.link else None
        for name in files.names(f"{view.function.folder}/net"):
            if name != own:
                files.remove(f"sys/class/net/{name}")
                files.remove(f"{view.function.folder}/net/{name}")
    remove_stale_groups(files, views)


def _render_sriov(files: Files, nic: Nic) -> None:
    if nic.form.total_vfs:
        folder, offset = nic.site.folder, routing_id(nic.vf_address(0)) - routing_id(nic.bdf)
        files.write(f"{folder}/sriov_totalvfs", f"{nic.form.total_vfs}\n")
        files.write(f"{folder}/sriov_offset", f"{offset}\n")
        files.write(f"{folder}/sriov_stride", "1\n")
        files.write(f"{folder}/sriov_vf_device", f"{nic.model.vf_device_id.lstrip('0')}\n")


def _render(files: Files, before: View | None, view: View) -> None:
    function = view.function
    if before is None:
        _render_identity(files, function)
    _render_link(files, view, before)
    render_group(files, view, before)
    if view.has_rdma:
        render_rdma(files, function, view.guids, is_active=view.is_port_active)
    else:
        remove_rdma(files, function)
    (render_vfio if view.is_vfio else remove_vfio)(files, function)
    files.write(f"{function.folder}/driver_override", f"{view.override or '(null)'}\n")
    render_binding(files, function.folder, view.driver, before.driver if before else None)
    if before is None and function.index is not None:
        files.link(f"{function.nic.site.folder}/virtfn{function.index}", function.folder)


def _render_identity(files: Files, function: Function) -> None:
    nic = function.nic
    is_pf = function.index is None
    if not is_pf:
        files.link(f"{function.folder}/physfn", nic.site.folder)
    ids = (nic.model.vendor_id, nic.model.pf_device_id if is_pf else nic.model.vf_device_id)
    pci_class = nic.form.pci_class or nic.model.pci_class or _CLASS[nic.form.link]
    render_function(files, function.site, ids, pci_class, None)


def _render_link(files: Files, view: View, before: View | None) -> None:
    function, link = view.function, view.link
    old = before.link if before else None
    software = function.software_rdma_device
    if old is not None and (link is None or link.name != old.name):
        files.remove(f"sys/class/net/{old.name}")
        files.remove(f"{function.folder}/net")
    if link is None:
        if software is not None:  # it ends with the interface
            remove_software_rdma(files, function, software)
        return
    if software is not None:
        render_software_rdma(files, function, software, link.name)
    nic, net = function.nic, f"{function.folder}/net/{link.name}"
    files.write(f"{net}/address", f"{link.mac}\n")
    files.write(f"{net}/type", f"{_ARPHRD[nic.form.link]}\n")
    is_usable = link.up and view.has_carrier
    files.write(f"{net}/operstate", "up\n" if is_usable else "down\n")
    if link.up:
        files.write(f"{net}/carrier", f"{int(view.has_carrier)}\n")
    else:
        files.remove(f"{net}/carrier")  # the kernel answers EINVAL
    files.write(f"{net}/mtu", f"{link.mtu}\n")
    files.write(f"{net}/ifindex", f"{function.link_index}\n")
    if function.index is None and nic.form.eswitch is not None:
        files.write(f"{net}/compat/devlink/mode", f"{nic.form.eswitch}\n")
    if nic.model.speed_gbps is not None:
        files.write(f"{net}/speed", f"{nic.model.speed_gbps * 1000 if is_usable else -1}\n")
    files.link(f"{net}/device", function.folder)
    files.link(f"sys/class/net/{link.name}", net)


def _remove_function(files: Files, view: View) -> None:
    function = view.function
    files.remove(f"{function.nic.site.folder}/virtfn{function.index}")
    if view.link is not None:
        files.remove(f"sys/class/net/{view.link.name}")
    remove_rdma(files, function)
    remove_vfio(files, function)
    if view.group is not None:
        leave_group(files, view)
    render_binding(files, function.folder, None, view.driver)
    files.remove(f"sys/bus/pci/devices/{function.bdf}")
    files.remove(function.folder)
