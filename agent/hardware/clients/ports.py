"""The port through which the plugin learns who holds a GPU, and asks processes of this driver to leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from agent.hardware.types import GpuUuid


@dataclass(frozen=True, slots=True, order=True)
class Client:
    """A process that has opened a GPU, or runs on it.

    Shape: ``name`` as the kernel has it, empty where the process cannot be seen; ``steps_aside`` whether it
           is an NVML process of this driver, which does so when it is asked; ``program`` whose NVML process
           it is: ``agent``, ``plugin``, empty where that is unknown; ``parent`` the number of the process
           that started it, 0 where that is unknown.
    Units: ``started`` clock ticks since the boot; with the number it tells processes apart.
    """

    pid: int
    name: str = ""
    started: int = 0
    steps_aside: bool = False
    program: str = ""
    parent: int = field(default=0, compare=False)

    def __str__(self) -> str:
        of = f" of the {self.program}" if self.program else ""
        return f"{self.name}{of} ({self.pid})" if self.name else f"process {self.pid}"


@dataclass(frozen=True, slots=True)
class SeenClients:
    """The processes that hold a GPU, by number.

    Shape: without the NVML process of this program, which keeps nothing from it; ``is_complete`` is False
           where there may be processes that this program cannot see; ``no_list`` why the driver lists none
           at all, empty if it does: then ``found`` have the GPU open, and may run on it.
    """

    found: tuple[Client, ...] = ()
    is_complete: bool = True
    no_list: str = ""


class GpuClients(Protocol):
    """Finds the processes that hold GPUs. No method fails: what cannot be seen is left out."""

    def of(self, gpu: GpuUuid) -> SeenClients:
        """Return the processes that hold a GPU now."""
        ...

    def running_on(self, gpu: GpuUuid) -> SeenClients:
        """Return the processes that compute or draw on a GPU now, as the driver lists them.

        A process that has only opened the GPU, such as a monitor, is not among them, unless the driver has
        no list: then each that has the GPU open may run on it.
        """
        ...

    def ask_to_step_aside(self, client: Client) -> None:
        """Ask an NVML process of this driver to let go of the driver for a moment; do not wait for it."""
        ...

    def is_there(self, client: Client) -> bool:
        """Whether a process still runs."""
        ...
