"""The kernel's boot id, read from procfs. Takes a root folder; returns the id."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from agent.hardware.attributes import required_text


@dataclass(frozen=True, slots=True)
class ProcBoot:
    """The ``BootReader`` of a machine below ``root``."""

    root: Path = Path("/")
    # Every claim asks, and making a path costs more than reading the file.
    _path: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_path", os.fspath(self.root / "proc/sys/kernel/random/boot_id"))

    def boot_id(self) -> str:
        """Return the kernel's boot id. Raises: NotFound, NoPermission, HardwareFault."""
        return required_text(self._path, "this kernel")
