"""What kinds of devices work with: the machine, the node as it was read, and where the host's files are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agent.hardware.ports import Gpus, Machine
from agent.hardware.types import GpuInstance, GpuUuid
from plugin.machine.driver_parts import DriverParts
from plugin.machine.gpu_parts import GpuParts
from plugin.machine.mig.modes import MigModes
from plugin.machine.mps.daemons import MpsDaemons
from plugin.machine.node import NodeSnapshot
from plugin.machine.vf_supply import VfSupply
from plugin.machine.waiting import Waiting


class PresentInstances(dict[GpuUuid, tuple[GpuInstance, ...]]):
    """The GIs of GPUs, read when they are asked for first.

    Whoever creates one meanwhile without this driver makes the creation of ours at its place fail.
    Raises: HardwareError.
    """

    def __init__(self, gpus: Gpus) -> None:
        super().__init__()
        self._gpus = gpus

    def __missing__(self, gpu: GpuUuid) -> tuple[GpuInstance, ...]:
        found = self[gpu] = self._gpus.gpu_instances(gpu)
        return found


@dataclass(frozen=True)
class Context:
    """The context of one call for one claim; one thread uses it.

    Shape: ``host_root`` where the host's files are seen from here; ``read_others`` reads the recorded devices
           of all other claims of this boot. Under the lock of a piece of hardware, those of it stay the same.
           ``vfs`` makes VFs and removes them, and knows what other claims hold; ``mig_modes`` changes them;
           ``others_under_mps`` the UUIDs of devices that other claims have under MPS;
           ``others_with_interval`` those of the GPUs for which other claims have an interval of time slicing;
           ``ahead`` what was read of the GPU driver while the allocation was awaited.
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
    ahead: DriverParts | None = None

    @cached_property
    def others(self) -> Sequence[object]:
        """Return the recorded devices of all other claims, read once."""
        return self.read_others()

    @cached_property
    def present(self) -> PresentInstances:
        """Return the instances that are on GPUs before this call changes any, each GPU's read once."""
        return PresentInstances(self.machine.gpus)

    @cached_property
    def mps(self) -> MpsDaemons:
        """Return the node's MPS daemons."""
        return MpsDaemons(self.machine.mps, self.machine.gpus)

    @cached_property
    def gpu_parts(self) -> GpuParts:
        """Return what containers need of GPUs. What the devices of the claim share is read once."""
        return GpuParts(self.machine, self.host_root, self.node.gpus, self.ahead)
