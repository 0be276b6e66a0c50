"""The real sysfs: its attributes as files. Takes a root folder; text is written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SysfsFiles:
    """The ``AttributeFiles`` below ``root``."""

    root: Path = Path("/")

    def write(self, attribute: str, text: str) -> None:
        """Write an existing file with one call, as sysfs requires. Raises: OSError."""
        descriptor = os.open(self.root / attribute, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
