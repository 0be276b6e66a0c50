"""A cache of the driver's libraries: searching all library folders takes longer than preparing a claim.

Takes the port of a machine's files; returns the same port, with its answer about libraries cached as long as
the driver's version is the same and every file still exists.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from agent.hardware.ports import DriverFiles
from agent.hardware.types import Bdf, DeviceNode, HostFile


@dataclass(frozen=True, slots=True)
class _Libraries:
    """What was found. Shape: ``paths`` of the files, each once."""

    driver_version: str
    files: tuple[HostFile, ...]
    paths: tuple[str, ...]

    def are_there(self) -> bool:
        return all(map(os.path.exists, self.paths))


class RememberedFiles:
    """Implements ``DriverFiles``. Device nodes and sockets are not cached."""

    def __init__(self, files: DriverFiles) -> None:
        self._files = files
        self._found: _Libraries | None = None

    def gpu_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        """Return the nodes of a whole GPU."""
        return self._files.gpu_nodes(minor)

    def control_nodes(self) -> tuple[DeviceNode, ...]:
        """Return the nodes that every consumer of a GPU needs."""
        return self._files.control_nodes()

    def compute_nodes(self) -> tuple[DeviceNode, ...]:
        """Return the nodes that every program needs that computes on a GPU."""
        return self._files.compute_nodes()

    def graphics_nodes(self, bdf: Bdf) -> tuple[DeviceNode, ...]:
        """Return the nodes for graphics of a GPU."""
        return self._files.graphics_nodes(bdf)

    def sockets(self) -> tuple[HostFile, ...]:
        """Return the sockets of the driver's services that run now."""
        return self._files.sockets()

    def instance_nodes(self, minor: int, gi_id: int, ci_id: int) -> tuple[DeviceNode, DeviceNode]:
        """Return the capability nodes of a GI and its CI."""
        return self._files.instance_nodes(minor, gi_id, ci_id)

    def shows_instance(self, minor: int, gi_id: int, ci_id: int) -> bool:
        """Whether the kernel shows the capability of a CI now."""
        return self._files.shows_instance(minor, gi_id, ci_id)

    def monitoring_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        """Return the nodes through which a monitor sees MIG instances."""
        return self._files.monitoring_nodes(minor)

    def has_imex_channels(self) -> bool:
        """Whether the driver has IMEX channels."""
        return self._files.has_imex_channels()

    def imex_channel_node(self, channel: int) -> DeviceNode:
        """Return the node of an IMEX channel."""
        return self._files.imex_channel_node(channel)

    def libraries(self, driver_version: str) -> tuple[HostFile, ...]:
        """Return the driver's libraries and tools of this version."""
        known = self._found
        if known is None or known.driver_version != driver_version or not known.are_there():
            files = self._files.libraries(driver_version)
            paths = tuple(dict.fromkeys(str(file.host_path) for file in files))
            self._found = known = _Libraries(driver_version, files, paths)
        return known.files
