"""Renders RDMA devices and their character devices. Takes a function; files are created or removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agent.hardware.simulated.files import Files
from agent.hardware.simulated.nics.functions import Function, digest

_LAYER: Final = {"ethernet": "Ethernet", "infiniband": "InfiniBand"}
_LANES: Final = {50: "1X HDR", 100: "4X EDR", 200: "4X HDR", 400: "4X NDR", 800: "4X XDR"}
_RDMA_MAJOR: Final = 231
_FIRST_UMAD, _FIRST_ISSM, _FIRST_VERBS = 0, 64, 192


def render_rdma(files: Files, function: Function, is_active: bool) -> None:
    """Create the RDMA device of a function."""
    nic = function.nic
    rdma = f"{function.folder}/infiniband/{function.rdma_device}"
    files.write(f"{rdma}/node_type", "1: CA\n")
    # All functions of a card report the card's GUID.
    files.write(f"{rdma}/sys_image_guid", f"{digest(nic.bdf.rpartition('.')[0], 8, ':', 2)}\n")
    files.write(f"{rdma}/ports/1/state", "4: ACTIVE\n" if is_active else "1: DOWN\n")
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


def remove_rdma(files: Files, function: Function) -> None:
    """Remove the RDMA device of a function, if it has one."""
    if not files.exists(f"{function.folder}/infiniband"):
        return
    files.remove(f"sys/class/infiniband/{function.rdma_device}")
    for kind, name, _ in _character_devices(function):
        files.remove(f"sys/class/{kind}/{name}")
        files.remove(f"dev/infiniband/{name}")
        files.remove(f"{function.folder}/{kind}")
    files.remove(f"{function.folder}/infiniband")
