"""Finds the RDMA devices of a function and their character devices.

The numbers in the names mean nothing: ``mlx5_7`` may be ``uverbs2``. A character device belongs to the RDMA
device that its file ``ibdev`` names, and its numbers are those of its file ``dev``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.nics.types import RdmaDevice
from agent.hardware.types import Bdf, DeviceNode

_NUMBERS: Final = re.compile(r"(\d+):(\d+)")
_CONNECTION_MANAGER: Final = "sys/class/misc/rdma_cm"


def rdma_devices(root: Path, bdf: Bdf) -> tuple[RdmaDevice, ...]:
    """Return the RDMA devices of a function by name, none while its driver has not made one."""
    function = root / "sys/bus/pci/devices" / bdf
    return tuple(_device(root, function, name) for name in attributes.names(function / "infiniband"))


def _device(root: Path, function: Path, name: str) -> RdmaDevice:
    verbs = tuple(_nodes(root, function / "infiniband_verbs", "uverbs", name))
    return RdmaDevice(
        name,
        verbs[0] if verbs else None,
        tuple(_nodes(root, function / "infiniband_mad", "umad", name)),
        tuple(_nodes(root, function / "infiniband_mad", "issm", name)),
        device_node(root, root / _CONNECTION_MANAGER, "/dev/infiniband/rdma_cm"),
    )


def _nodes(root: Path, folder: Path, prefix: str, device: str) -> Iterator[DeviceNode]:
    for name in attributes.names(folder):
        if name.startswith(prefix) and attributes.text(folder / name / "ibdev") == device:
            node = device_node(root, folder / name, f"/dev/infiniband/{name}")
            if node is not None:
                yield node


def device_node(root: Path, folder: Path, path: str, host_path: str | None = None) -> DeviceNode | None:
    """Return a character device with the numbers of its class folder, None if it has none.

    Shape: ``path`` in the container; ``host_path`` the host's own name, by default the same.
    """
    numbers = _NUMBERS.fullmatch(attributes.text(folder / "dev") or "")
    if numbers is None:
        return None
    here = root / (host_path or path).removeprefix("/")
    return DeviceNode(path, here if attributes.exists(here) else None, int(numbers[1]), int(numbers[2]))
