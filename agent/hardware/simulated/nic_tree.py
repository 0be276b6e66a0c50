"""Renders the NIC part of a tree: PFs, VFs, their network and RDMA devices.

A NIC and the number of its VFs enter, files are created and removed. Values that the node file does not have
(network names, hardware addresses, GUIDs) are derived from the PCI address, so they never change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from agent.hardware.simulated.devices import Nic
from agent.hardware.simulated.files import Files
from agent.hardware.simulated.pci_tree import render_function
from agent.hardware.simulated.tree import Site, routing_id

_CLASS: Final = {"ethernet": "020000", "infiniband": "020700"}
_PREFIX: Final = {"ethernet": "en", "infiniband": "ib"}
_ARPHRD: Final = {"ethernet": 1, "infiniband": 32}
_LAYER: Final = {"ethernet": "Ethernet", "infiniband": "InfiniBand"}
_ADDRESS_BYTES: Final = {"ethernet": 6, "infiniband": 20}
_LANES: Final = {50: "1X HDR", 100: "4X EDR", 200: "4X HDR", 400: "4X NDR", 800: "4X XDR"}
_VERBS_MAJOR: Final = 231
_FIRST_VERBS_MINOR: Final = 192


@dataclass(frozen=True, slots=True)
class _Port:
    """One function of a NIC with the devices on it."""

    nic: Nic
    site: Site
    netdev: str
    rdma_device: str
    verbs: int

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """Yield class, name and folder of each device."""
        for name, device in (
            ("net", self.netdev),
            ("infiniband", self.rdma_device),
            ("infiniband_verbs", f"uverbs{self.verbs}"),
        ):
            yield name, device, f"{self.site.folder}/{name}/{device}"


def render_nic(files: Files, nic: Nic, vfs: int) -> None:
    """Create the PF and exactly its first ``vfs`` VFs."""
    port = _Port(nic, nic.site, _netdev(nic, ""), f"mlx5_{nic.number}", nic.first_verbs)
    if nic.form.total_vfs:
        offset = routing_id(nic.vf_address(0)) - routing_id(nic.bdf)
        files.write(f"{nic.site.folder}/sriov_totalvfs", f"{nic.form.total_vfs}\n")
        files.write(f"{nic.site.folder}/sriov_offset", f"{offset}\n")
        files.write(f"{nic.site.folder}/sriov_stride", "1\n")
    _render(files, port, nic.model.pf_device_id)
    files.write("sys/class/misc/rdma_cm/dev", "10:58\n")
    files.character_device("dev/infiniband/rdma_cm")
    render_vfs(files, nic, vfs)


def render_vfs(files: Files, nic: Nic, vfs: int) -> None:
    """Create exactly the first ``vfs`` VFs; ``sriov_numvfs`` changes last, as in the kernel."""
    if not nic.form.total_vfs:
        return
    for index in range(nic.form.total_vfs):
        port, link = _vf(nic, index), f"{nic.site.folder}/virtfn{index}"
        if index < vfs:
            files.link(f"{port.site.folder}/physfn", nic.site.folder)
            _render(files, port, nic.model.vf_device_id)
            files.link(link, port.site.folder)
        elif files.exists(port.site.folder):
            files.remove(link)
            _remove(files, port)
    files.write(f"{nic.site.folder}/sriov_numvfs", f"{vfs}\n")


def _vf(nic: Nic, index: int) -> _Port:
    bdf = nic.vf_address(index)
    folder = f"{nic.site.folder.rpartition('/')[0]}/{bdf}"
    site = replace(nic.site, bdf=bdf, folder=folder)
    rdma_device = f"mlx5_{nic.first_rdma + index}"
    return _Port(nic, site, _netdev(nic, f"v{index}"), rdma_device, nic.first_verbs + 1 + index)


def _netdev(nic: Nic, suffix: str) -> str:
    """Return a network device's name from its PF's address, as systemd's predictable names have it."""
    _, bus, rest = nic.bdf.split(":")
    device, function = rest.split(".")
    number = f"f{function}" if function != "0" else ""
    return f"{_PREFIX[nic.form.link]}p{int(bus, 16)}s{int(device, 16)}{number}{suffix}"


def _render(files: Files, port: _Port, device_id: str) -> None:
    nic, folder, link = port.nic, port.site.folder, port.nic.form.link
    net = f"{folder}/net/{port.netdev}"
    files.write(f"{net}/address", f"{_digest(port.site.bdf, _ADDRESS_BYTES[link], ':', 1)}\n")
    files.write(f"{net}/type", f"{_ARPHRD[link]}\n")
    files.write(f"{net}/operstate", "up\n")
    rdma = f"{folder}/infiniband/{port.rdma_device}"
    files.write(f"{rdma}/node_type", "1: CA\n")
    # All functions of a card report the card's GUID.
    files.write(f"{rdma}/sys_image_guid", f"{_digest(nic.bdf.rpartition('.')[0], 8, ':', 2)}\n")
    files.write(f"{rdma}/ports/1/state", "4: ACTIVE\n")
    files.write(f"{rdma}/ports/1/link_layer", f"{_LAYER[link]}\n")
    if nic.model.speed_gbps is not None:
        files.write(f"{net}/speed", f"{nic.model.speed_gbps * 1000}\n")
        files.write(
            f"{rdma}/ports/1/rate", f"{nic.model.speed_gbps} Gb/sec ({_LANES[nic.model.speed_gbps]})\n"
        )
    verbs = f"{folder}/infiniband_verbs/uverbs{port.verbs}"
    files.write(f"{verbs}/ibdev", f"{port.rdma_device}\n")
    files.write(f"{verbs}/dev", f"{_VERBS_MAJOR}:{_FIRST_VERBS_MINOR + port.verbs}\n")
    files.character_device(f"dev/infiniband/uverbs{port.verbs}")
    for _, _, device in port.entries():
        files.link(f"{device}/device", folder)
    render_function(files, port.site, (nic.model.vendor_id, device_id), _CLASS[link], "mlx5_core")
    for name, device, target in port.entries():
        files.link(f"sys/class/{name}/{device}", target)


def _remove(files: Files, port: _Port) -> None:
    for name, device, _ in port.entries():
        files.remove(f"sys/class/{name}/{device}")
    files.remove(f"sys/bus/pci/devices/{port.site.bdf}")
    files.remove(f"dev/infiniband/uverbs{port.verbs}")
    files.remove(port.site.folder)


def _digest(of: str, length: int, separator: str, group: int) -> str:
    """Return an address that belongs to ``of``; the first byte marks it as locally administered."""
    return (b"\x02" + hashlib.sha256(of.encode()).digest())[:length].hex(separator, group)
