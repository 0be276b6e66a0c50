"""What the commands need of machines, as ports; ``tangram.hardware`` implements them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from scheduler_core.base.quick_dataclass import dataclass

if TYPE_CHECKING:
    from agent.hardware.machine_options import MachineOptions
    from agent.hardware.ports import Machine, Readers
    from plugin.options import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSummary:
    """A shipped machine in a line.

    Shape: ``gpus`` and ``nics`` such as ``8 × NVIDIA H200``; ``left_out`` a sentence for each MIG profile of
           its GPUs that it lacks, since no source has the figures.
    """

    name: str
    gpus: str
    mig: str
    nics: str
    topology: str
    left_out: tuple[str, ...] = ()


class SimulatedNode(Protocol):
    """A simulated machine in a directory of its own."""

    @property
    def name(self) -> str:
        """Return the name of the node."""
        ...

    @property
    def machine(self) -> Machine:
        """Return its hardware, as the real readers see it."""
        ...

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return a sentence for each MIG profile that it lacks, since no source has the figures."""
        ...

    def inject(self, faults: Sequence[str]) -> None:
        """Add faults, and let the driver raise events: all or none of them."""
        ...

    def faults(self) -> tuple[str, ...]:
        """Return the present faults in the form that ``inject`` takes."""
        ...

    def clear_faults(self) -> None:
        """Remove all faults."""
        ...

    def reset_gpu(self, minor: int) -> None:
        """Reset the GPU with this minor number. Raises: NotFound; InUse while a client holds it."""
        ...

    def reboot(self) -> str:
        """Reboot it and return the new boot id."""
        ...


class Chosen(Protocol):
    """A machine that options name, not opened yet."""

    @property
    def node_name(self) -> str | None:
        """Return the node name of a simulated machine, None for this machine."""
        ...

    def opened(self) -> AbstractContextManager[Machine]:
        """Open the machine while the block runs."""
        ...


class Serve(Protocol):
    """Runs the kubelet plugin."""

    def __call__(self, machine: Machine, options: Options, claims: Path, /) -> AbstractContextManager[object]:
        """Run it on a machine, with claims from a folder, while the block is open."""
        ...


class Machines(Protocol):
    """Opens the machines that commands read: simulated ones, and this host."""

    def shipped(self) -> tuple[NodeSummary, ...]:
        """Return the simulated machines that come with the package, by name."""
        ...

    def text(self, name: str) -> str:
        """Return the file of a shipped machine."""
        ...

    def simulated(self, name: str, directory: Path) -> SimulatedNode:
        """Make a machine from a shipped name or a node file, in an empty or its own directory."""
        ...

    def created(self, name: str, directory: Path) -> SimulatedNode:
        """Make a machine in a directory that is empty, or has it already."""
        ...

    def attached(self, directory: Path) -> SimulatedNode:
        """Return the machine of a directory."""
        ...

    def real(self) -> Readers:
        """Return the machine that this process runs on, to be read only."""
        ...

    def recorded(self, name: str, directory: Path | None) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return this machine, or the one of a directory, as a node file, and what such a file cannot say."""
        ...

    def chosen(self, options: MachineOptions) -> Chosen:
        """Return the machine that the options of a node's programs name."""
        ...
