"""What kinds of devices work with: the machine, the node as it was read, and where the host's files are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agent.hardware.ports import Machine
from plugin.machine.gpu_parts import GpuParts
from plugin.machine.node import NodeSnapshot
from plugin.machine.waiting import Waiting


@dataclass(frozen=True)
class Context:
    """The context of one call for one claim; one thread uses it.

    Shape: ``host_root`` where the host's files are seen from here; ``read_others`` reads the recorded devices
           of all other claims of this boot. Under the lock of a piece of hardware, those of it stay the same.
    """

    machine: Machine
    node: NodeSnapshot
    host_root: Path
    waiting: Waiting
    read_others: Callable[[], Sequence[object]]

    @cached_property
    def others(self) -> Sequence[object]:
        """Return the recorded devices of all other claims, read once."""
        return self.read_others()

    @cached_property
    def gpu_parts(self) -> GpuParts:
        """Return what containers need of GPUs. What the devices of the claim share is read once."""
        return GpuParts(self.machine, self.host_root)
