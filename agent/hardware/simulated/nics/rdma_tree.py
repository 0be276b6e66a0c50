"""Renders RDMA devices and their character devices. Takes a function; files are created or removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from agent.hardware.simulated.files import Files
from agent.hardware.simulated.nics.functions import Function, digest

_LAYER: Final = {"ethernet": "Ethernet", "infiniband": "InfiniBand", "unspecified": "Unspecified"}
_LANES: Final = {50: "1X HDR", 100: "4X EDR", 200: "4X HDR", 400: "4X NDR", 800: "4X XDR"}
_RDMA_MAJOR: Final = 231
_FIRST_UMAD, _FIRST_ISSM, _FIRST_VERBS = 0, 64, 192
_FIRST_SOFTWARE = 40_000


def render_rdma(files: Files, function: Function, guids: tuple[str, str], *, is_active: bool) -> None:
    """Create the RDMA device of a function. Shape: ``guids`` of the device and of its port."""
    nic = function.nic
    rdma = f"{function.folder}/infiniband/{function.rdma_device}"
    files.write(f"{rdma}/node_type", "1: CA\n")
    node_guid, port_guid = guids
    files.write(f"{rdma}/node_guid", f"{_in_sysfs(node_guid)}\n")
    # All functions of a card report the card's GUID.
    files.write(f"{rdma}/sys_image_guid", f"{digest(nic.bdf.rpartition('.')[0], 8, ':', 2)}\n")
    files.write(f"{rdma}/ports/1/gids/0", f"fe80:0000:0000:0000:{_in_sysfs(port_guid)}\n")
    files.write(f"{rdma}/ports/1/state", "4: ACTIVE\n" if is_active else "1: DOWN\n")
    files.write(f"{rdma}/ports/1/link_layer", f"{_LAYER[nic.form.link]}\n")
    if nic.model.speed_gbps is not None:
        rate = f"{nic.model.speed_gbps} Gb/sec ({_LANES.get(nic.model.speed_gbps, '4X')})"
        files.write(f"{rdma}/ports/1/rate", f"{rate}\n")
    _render_nodes(files, function, function.rdma_device, _character_devices(function))
    files.link(f"{rdma}/device", function.folder)
    files.link(f"sys/class/infiniband/{function.rdma_device}", rdma)


def _in_sysfs(guid: str) -> str:
    return bytes.fromhex(guid.replace(":", "")).hex(":", 2)


def render_software_rdma(files: Files, function: Function, name: str, interface: str) -> None:
    """Create the RDMA device that software made on an interface: its parent is the interface's.

    Source: Linux, siw_device_create and rxe_register_device; only rxe names the interface in a file.
    """
    rdma = f"{function.folder}/infiniband/{name}"
    is_rxe = function.nic.form.software_rdma == "rxe"
    files.write(f"{rdma}/node_type", "1: CA\n" if is_rxe else "4: RNIC\n")
    files.write(f"{rdma}/ports/1/state", "4: ACTIVE\n")
    files.write(f"{rdma}/ports/1/link_layer", "Ethernet\n")
    files.write(f"{rdma}/ports/1/rate", "2.5 Gb/sec (1X SDR)\n")
    if is_rxe:
        files.write(f"{rdma}/parent", f"{interface}\n")
    _render_nodes(files, function, name, _software_verbs(function))
    files.link(f"{rdma}/device", function.folder)
    files.link(f"sys/class/infiniband/{name}", rdma)


def _render_nodes(
    files: Files, function: Function, device: str, nodes: Iterable[tuple[str, str, int]]
) -> None:
    for kind, name, minor in nodes:
        folder = f"{function.folder}/{kind}/{name}"
        files.write(f"{folder}/ibdev", f"{device}\n")
        files.write(f"{folder}/dev", f"{_RDMA_MAJOR}:{minor}\n")
        files.character_device(f"dev/infiniband/{name}")
        files.link(f"{folder}/device", function.folder)
        files.link(f"sys/class/{kind}/{name}", folder)


def _software_verbs(function: Function) -> Iterator[tuple[str, str, int]]:
    """Yield its verbs device, under a number above those of all functions."""
    number = _FIRST_SOFTWARE + function.nic.number
    yield "infiniband_verbs", f"uverbs{number}", _FIRST_VERBS + number


def _character_devices(function: Function) -> Iterator[tuple[str, str, int]]:
    """Yield class, name and minor number; only InfiniBand has a subnet manager's device."""
    number = function.number
    yield "infiniband_verbs", f"uverbs{number}", _FIRST_VERBS + number
    yield "infiniband_mad", f"umad{number}", _FIRST_UMAD + number
    if function.nic.form.link == "infiniband":
        yield "infiniband_mad", f"issm{number}", _FIRST_ISSM + number


def remove_rdma(files: Files, function: Function) -> None:
    """Remove the RDMA device of a function, if it has one."""
    _remove(files, function, function.rdma_device, _character_devices(function))


def remove_software_rdma(files: Files, function: Function, name: str) -> None:
    """Remove the RDMA device that software made, if it is there."""
    _remove(files, function, name, _software_verbs(function))


def _remove(files: Files, function: Function, device: str, nodes: Iterable[tuple[str, str, int]]) -> None:
    if not files.exists(f"{function.folder}/infiniband/{device}"):
        return
    files.remove(f"sys/class/infiniband/{device}")
    for kind, name, _ in nodes:
        files.remove(f"sys/class/{kind}/{name}")
        files.remove(f"dev/infiniband/{name}")
        files.remove(f"{function.folder}/{kind}/{name}")
    files.remove(f"{function.folder}/infiniband/{device}")
    for folder in ("infiniband", "infiniband_verbs", "infiniband_mad"):
        if not files.names(f"{function.folder}/{folder}"):
            files.remove(f"{function.folder}/{folder}")
