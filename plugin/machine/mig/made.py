"""On which GPUs this driver turned the MIG mode on: an empty file for each, made before and removed after.

Only GPUs that reset for a change have one: there a mode that somebody else had turned on stays. The caller
holds the GPU's lock. Where a power cut takes a file, the mode stays on, which harms nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.hardware.types import Gpu
from plugin.base import files

_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class MadeModes:
    """The files in one folder. Raises everywhere: StorageFailed."""

    folder: Path

    def has(self, gpu: Gpu) -> bool:
        """Whether this driver turned the mode of a GPU on, and did not turn it off since."""
        return files.exists(self._path(gpu))

    def add(self, gpu: Gpu) -> None:
        """Write down that the mode of a GPU is about to be turned on. It survives the end of this process."""
        if gpu.resets_for_mode:
            files.replace(self._path(gpu), b"", _MODE, synced=False)

    def remove(self, gpu: Gpu) -> None:
        """Forget it: the mode is off."""
        if gpu.resets_for_mode:
            files.remove(self._path(gpu))

    def _path(self, gpu: Gpu) -> Path:
        return files.within(self.folder, gpu.uuid)
