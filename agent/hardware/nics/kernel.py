"""The two interfaces to the kernel through which NICs are changed: files of sysfs, and rtnetlink.

Each raises ``OSError`` with the kernel's number; callers translate it once (``refusals.py``). The real
interfaces are in ``sysfs_files.py`` and ``rtnetlink.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from agent.hardware.nics.links import Link, Step
from agent.hardware.nics.types import VfSettings


class AttributeFiles(Protocol):
    """Writes attributes of sysfs."""

    def write(self, attribute: str, text: str) -> None:
        """Write an attribute, a path from the root such as ``sys/bus/pci/drivers_probe``.

        The call takes as long as the kernel's work, seconds at times. Raises: OSError.
        """
        ...


class NetworkKernel(Protocol):
    """Reads and changes network links. Shape: ``namespace`` None for the caller's, else its file."""

    def links(self, namespace: Path | None) -> tuple[Link, ...]:
        """Return all links of a namespace, by index. Raises: OSError."""
        ...

    def apply(self, namespace: Path | None, step: Step) -> None:
        """Change one link of a namespace. Raises: OSError."""
        ...

    def vf_settings(self, pf: str) -> Mapping[int, VfSettings]:
        """Return the settings of all VFs, by index, of a PF by interface name. Raises: OSError."""
        ...

    def set_vf(self, pf: str, index: int, settings: VfSettings) -> None:
        """Change the given settings of one VF, in one request. Raises: OSError."""
        ...
