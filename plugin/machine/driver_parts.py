"""What containers need of the GPU driver, whichever GPU they have: nodes for computing, libraries, sockets.

Takes the port of the driver's files; returns them checked, as the host names them. No call of the driver is
made, so this can be read while something else is awaited, and a GPU that hangs does not delay it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.hardware.ports import DriverFiles
from plugin.machine.parts import SharedParts, usable_files, usable_nodes


@dataclass(frozen=True, slots=True)
class DriverParts:
    """What was read. Shape: ``version`` that of the driver whose files these are."""

    version: str
    shared: SharedParts


def driver_parts(files: DriverFiles, version: str, host_root: Path) -> DriverParts:
    """Return the parts of a driver of this version. Raises: HardwareError; NotReady where one is missing."""
    nodes = (*files.control_nodes(), *files.compute_nodes())
    found = (*files.libraries(version), *files.sockets())
    return DriverParts(version, SharedParts(usable_nodes(nodes, host_root), usable_files(found, host_root)))
