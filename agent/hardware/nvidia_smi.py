"""Implements ``TimeSlices`` with NVIDIA's program ``nvidia-smi``, the only documented way.

Source: nvidia-smi(1), "compute-policy" and the table of return codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import (
    DriverMissing,
    GpuLost,
    HardwareError,
    HardwareFault,
    InvalidArgument,
    NoPermission,
    NotFound,
    NotSupported,
)
from agent.hardware.mps.launching import Launching
from agent.hardware.mps.runs import run
from agent.hardware.types import GpuUuid, TimeSlice

PROGRAM: Final = "nvidia-smi"
_INSTALL: Final = "the operator must install the driver's programs"
_REFUSALS: Final[Mapping[int, type[HardwareError]]] = {
    2: InvalidArgument,
    3: NotSupported,
    4: NoPermission,
    6: NotFound,
    9: DriverMissing,
    12: DriverMissing,
    15: GpuLost,
}
"""What the program's return codes mean; every other one is a failure without a class of its own."""


@dataclass(frozen=True, slots=True)
class NvidiaSmi:
    """The program of one driver."""

    driver: DriverRoot
    launching: Launching = field(default_factory=Launching)

    def set_time_slice(self, gpu: GpuUuid, interval: TimeSlice) -> None:
        """Set how long programs take turns on a GPU. Raises: HardwareError of the program's return code."""
        attempted = f"set the interval of time slicing to {interval.name.title()}"
        options = ["compute-policy", "-i", gpu, "--set-timeslice", str(interval.value)]
        libraries = self.driver.library_path
        environment = {"LD_LIBRARY_PATH": libraries} if libraries else {}
        done = run(self.launching.asking([self._program(), *options]), environment)
        if done.status:
            raise _REFUSALS.get(done.status, HardwareFault)(attempted, f"GPU {gpu}", done.reason)

    def _program(self) -> str:
        """Return the program as the host names it. Raises: NotFound."""
        found = self.driver.tool(PROGRAM)
        if found is None:
            raise NotFound("find program", PROGRAM, f"it is in no folder of {self.driver.root}", _INSTALL)
        host_root = self.launching.host_root
        return str(found if host_root == Path("/") else Path("/") / found.relative_to(host_root))
