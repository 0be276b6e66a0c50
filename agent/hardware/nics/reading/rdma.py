"""Finds the RDMA devices of a function and their character devices.

The numbers in the names mean nothing: ``mlx5_7`` may be ``uverbs2``. A character device belongs to the RDMA
device that its file ``ibdev`` names, and its numbers are those of its file ``dev``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from agent.hardware import attributes
from agent.hardware.interfaces import infiniband_guids, is_software_rdma
from agent.hardware.nics.types import RdmaDevice
from agent.hardware.types import Bdf, DeviceNode

_NUMBERS: Final = re.compile(r"(\d{1,9}):(\d{1,9})")
_CONNECTION_MANAGER: Final = "sys/class/misc/rdma_cm"


class _Owned(NamedTuple):
    """A character device by its own name. Shape: ``device`` the RDMA device that it belongs to."""

    device: str
    name: str
    node: DeviceNode


def rdma_devices(root: Path, bdf: Bdf) -> tuple[RdmaDevice, ...]:
    """Return the RDMA devices of a function by name, none while its driver has not made one.

    Those that software made on its interface are not the function's.
    """
    function = os.path.join(root, "sys/bus/pci/devices", bdf)  # a text: faster to extend than a Path
    folder = f"{function}/infiniband"
    found = [name for name in attributes.names(folder) if not is_software_rdma(f"{folder}/{name}")]
    if not found:
        return ()
    verbs = tuple(_nodes(root, f"{function}/infiniband_verbs"))
    datagrams = tuple(_nodes(root, f"{function}/infiniband_mad"))
    manager = device_node(root, root / _CONNECTION_MANAGER, "/dev/infiniband/rdma_cm")
    return tuple(_device(f"{folder}/{name}", verbs, datagrams, manager) for name in found)


def _device(
    folder: str, verbs: Sequence[_Owned], datagrams: Sequence[_Owned], manager: DeviceNode | None
) -> RdmaDevice:
    name = os.path.basename(folder)

    def own(nodes: Sequence[_Owned], prefix: str) -> Iterator[DeviceNode]:
        return (one.node for one in nodes if one.device == name and one.name.startswith(prefix))

    return RdmaDevice(
        name,
        next(own(verbs, "uverbs"), None),
        tuple(own(datagrams, "umad")),
        tuple(own(datagrams, "issm")),
        manager,
        *infiniband_guids(folder),
    )


def _nodes(root: Path, folder: str) -> Iterator[_Owned]:
    """Yield the character devices of one class of a function, whatever RDMA device they belong to."""
    for name in attributes.names(folder):
        device = attributes.text(f"{folder}/{name}/ibdev")
        node = device_node(root, f"{folder}/{name}", f"/dev/infiniband/{name}") if device else None
        if device and node is not None:
            yield _Owned(device, name, node)


def device_node(
    root: Path, folder: attributes.AnyPath, path: str, host_path: str | None = None
) -> DeviceNode | None:
    """Return a character device with the numbers of its class folder, None if it has none.

    Shape: ``path`` in the container; ``host_path`` the host's own name, by default the same.
    """
    numbers = _NUMBERS.fullmatch(attributes.text(f"{folder}/dev") or "")
    if numbers is None:
        return None
    here = root / (host_path or path).removeprefix("/")
    return DeviceNode(path, here if attributes.exists(here) else None, int(numbers[1]), int(numbers[2]))
