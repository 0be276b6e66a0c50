"""Reads how NIC functions are: whether the link has a carrier, and which RDMA ports are not active."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agent.hardware import attributes
from agent.hardware.health.types import NicVitals
from agent.hardware.interfaces import ACTIVE_PORT, Interfaces, is_software_rdma, lacks_guid
from agent.hardware.types import Bdf


def nic_vitals(root: Path, bdf: Bdf) -> NicVitals:
    """Return how a function is now."""
    return NicVitals(bdf=bdf, has_link=_has_link(root, bdf), ports_down=tuple(_ports_down(root, bdf)))


def _has_link(root: Path, bdf: Bdf) -> bool | None:
    """Return whether the uplink has a carrier; the kernel refuses to say (EINVAL) while it is set down."""
    folders = Interfaces.netdevs_of(root / "sys", bdf)
    carrier = attributes.number(folders[0] / "carrier") if folders else None
    return None if carrier is None else carrier == 1


def _ports_down(root: Path, bdf: Bdf) -> Iterator[str]:
    """Yield the ports of which the kernel says another state than active; one that says none is unknown.

    Without a GUID a VF's port is down until its NIC is asked for one: it is not a fault of the VF.
    """
    devices = root / "sys/bus/pci/devices" / bdf / "infiniband"
    for device in attributes.names(devices):
        if is_software_rdma(devices / device) or lacks_guid(devices / device):
            continue
        for port in attributes.names(devices / device / "ports"):
            state = attributes.text(devices / device / "ports" / port / "state")
            if state is not None and state != ACTIVE_PORT:
                yield f"{device}/{port}"
