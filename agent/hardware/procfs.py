"""The kernel's boot id, read from procfs. Takes a root folder; returns the id."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.hardware.attributes import required_text


@dataclass(frozen=True, slots=True)
class ProcBoot:
    """The ``BootReader`` of a machine below ``root``."""

    root: Path = Path("/")

    def boot_id(self) -> str:
        """Return the kernel's boot id. Raises: NotFound, NoPermission, HardwareFault."""
        return required_text(self.root / "proc/sys/kernel/random/boot_id", "this kernel")
