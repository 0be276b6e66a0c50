"""What kinds of devices work with: the machine, the node as it was read, and where the host's files are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agent.hardware.ports import Machine
from plugin.machine.gpu_parts import GpuParts
from plugin.machine.mig.modes import MigModes
from plugin.machine.mps_daemons import MpsDaemons
from plugin.machine.node import NodeSnapshot
from plugin.machine.vf_supply import VfSupply
from plugin.machine.waiting import Waiting


@dataclass(frozen=True)
class Context:
    """The context of one call for one claim; one thread uses it.

    Shape: ``host_root`` where the host's files are seen from here; ``read_others`` reads the recorded devices
           of all other claims of this boot. Under the lock of a piece of hardware, those of it stay the same.
           ``vfs`` makes VFs and removes them, and knows what other claims hold; ``mig_modes`` changes them;
           ``others_under_mps`` the UUIDs of devices that other claims have under MPS;
           ``others_with_interval`` those of the GPUs for which other claims have an interval of time slicing.
    """

    machine: Machine
    node: NodeSnapshot
    host_root: Path
    waiting: Waiting
    read_others: Callable[[], Sequence[object]]
    vfs: VfSupply
    mig_modes: MigModes
    others_under_mps: Callable[[], frozenset[str]] = frozenset
    others_with_interval: Callable[[], frozenset[str]] = frozenset

    @cached_property
    def others(self) -> Sequence[object]:
        """Return the recorded devices of all other claims, read once."""
        return self.read_others()

    @cached_property
    def mps(self) -> MpsDaemons:
        """Return the node's MPS daemons."""
        return MpsDaemons(self.machine.mps, self.machine.gpus)

    @cached_property
    def gpu_parts(self) -> GpuParts:
        """Return what containers need of GPUs. What the devices of the claim share is read once."""
        return GpuParts(self.machine, self.host_root, self.node.gpus)
