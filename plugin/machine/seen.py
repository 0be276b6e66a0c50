"""Which hardware answers now. Only GPUs and NICs are listed, which is cheap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.hardware.ports import Readers
from agent.hardware.types import Bdf, Gpu, GpuUuid, PhysicalFunction, Unreadable


@dataclass(frozen=True, slots=True)
class SeenHardware:
    """The hardware that answered, and the hardware that could not be read.

    Shape: ``has_imex`` whether the driver has IMEX channels.
    """

    gpus: frozenset[GpuUuid]
    functions: frozenset[Bdf]
    unreadable: tuple[Unreadable, ...]
    has_imex: bool = False

    @classmethod
    def on(cls, readers: Readers) -> SeenHardware:
        """List the hardware. Raises: HardwareError."""
        gpus, nics = readers.gpus.gpus(), readers.pci.nics()
        return cls(
            frozenset(gpu.uuid for gpu in gpus if isinstance(gpu, Gpu)),
            frozenset(_functions(nics)),
            tuple(found for found in (*gpus, *nics) if isinstance(found, Unreadable)),
            readers.files.has_imex_channels(),
        )

    def why_gpu_is_missing(self, gpu: Gpu) -> str:
        """Return why a GPU did not answer, empty where it did."""
        return "" if gpu.uuid in self.gpus else self._why_not(f"GPU {gpu.index}", gpu.uuid, gpu.bdf)

    def why_function_is_missing(self, bdf: Bdf) -> str:
        """Return why a function of a NIC did not answer, empty where it did."""
        return "" if bdf in self.functions else self._why_not(f"NIC {bdf}", bdf)

    def _why_not(self, *names: str) -> str:
        """Return why the hardware with one of these names did not answer."""
        for found in self.unreadable:
            if {found.what, *found.hints} & set(names):
                return found.reason
        return f"{names[0]} no longer exists"


def _functions(nics: Iterable[PhysicalFunction | Unreadable]) -> Iterable[Bdf]:
    for nic in nics:
        if isinstance(nic, PhysicalFunction):
            yield nic.function.bdf
            yield from (vf.function.bdf for vf in nic.vfs)
