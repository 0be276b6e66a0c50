"""GPUs that several claims share, in two modes: devices beside the whole GPU and its partitions.

A device draws its part of the memory and the multiprocessors of its GPU once, for all its claims; each claim
consumes a share of the device's own capacity. A device that draws all of them is kept apart from the rest of
its GPU by counting alone. Where two modes are in use side by side, each draws a part, and an expression keeps
MIG partitions out of what is left. Source of the policies: KEP-5075; of the expression: KEP-5963, first form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from agent.hardware.types import Gpu, GpuUuid
from agent.inventory.modes import ALL_OF_IT, GpuMode, ModesOfGpu
from agent.inventory.names import mps_name, product_label, shared_name
from agent.inventory.published import MpsGpu, SharedGpu
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import DeviceName, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.policy import RequestPolicy

MEMORY: Final = "memory"
MULTIPROCESSORS: Final = "multiprocessors"
_MIB: Final = 2**20
_NOTHING: Final = RequestPolicy(default=Quantity.of(0), values=(Quantity.of(0),))
Policies = Mapping[QualifiedName, RequestPolicy]


@dataclass(frozen=True, slots=True)
class SharingMode:
    """A mode in which claims share a GPU.

    Shape: ``device_type`` is the attribute ``type``, ``name`` gives the device of a number.
    """

    mode: GpuMode
    device_type: str
    name: Callable[[int], DeviceName]
    published: type[SharedGpu | MpsGpu]

    def percent(self, modes: ModesOfGpu) -> int | None:
        """Return how much of a GPU the mode has, None where it is not offered. Units: percent."""
        return modes.shared if self.mode is GpuMode.SHARED else modes.mps

    def mixin(self, gpu: Gpu, percent: int) -> str:
        """Return the name of what the devices of a product with an equal part share."""
        part = "" if percent == ALL_OF_IT else f"{percent}-"
        return f"{self.device_type.removeprefix('gpu-')}-{part}{product_label(gpu.product_name)}"


SHARING_MODES: Final = (
    SharingMode(GpuMode.SHARED, "gpu-shared", shared_name, SharedGpu),
    SharingMode(GpuMode.MPS, "gpu-mps", mps_name, MpsGpu),
)


def shared_capacity(
    whole: Mapping[QualifiedName, Quantity], driver: str, percent: int = ALL_OF_IT
) -> dict[QualifiedName, Quantity]:
    """Return what shares are taken from: a GPU's memory, and its multiprocessors where they are known.

    Units: of a part of the GPU whole MiB and whole multiprocessors.
    """
    units = {qualified(MEMORY, driver): _MIB, qualified(MULTIPROCESSORS, driver): 1}
    if percent == ALL_OF_IT:
        return {name: whole[name] for name in units if name in whole}
    parts = {
        name: whole[name].whole * percent // ALL_OF_IT // unit * unit
        for name, unit in units.items()
        if name in whole
    }
    made = {qualified(MEMORY, driver): Quantity.bytes_of, qualified(MULTIPROCESSORS, driver): Quantity.of}
    return {name: made[name](amount) for name, amount in parts.items() if amount}


def share_policies(capacity: Mapping[QualifiedName, Quantity], driver: str) -> Policies:
    """Return which amounts a claim may consume of a shared GPU.

    Units: memory in whole MiB, all of it unless the claim says how much; multiprocessors one by one, none
           unless the claim says how many.
    """
    memory, processors = qualified(MEMORY, driver), qualified(MULTIPROCESSORS, driver)
    least = Quantity.bytes_of(_MIB)
    most = Quantity.bytes_of(capacity[memory].whole // _MIB * _MIB)
    found = {memory: RequestPolicy(default=most, least=least, most=most, step=least)}
    if processors in capacity:
        none, one = Quantity.of(0), Quantity.of(1)
        found[processors] = RequestPolicy(default=none, least=none, most=capacity[processors], step=one)
    return found


def only_drawn(name: QualifiedName) -> Policies:
    """Return the policy of a capacity that the device draws and no claim consumes."""
    return {name: _NOTHING}


def without_partitions_of(uuid: GpuUuid, driver: str) -> str:
    """Return the expression that every device meets but the MIG partitions of a GPU."""
    own = f'device.attributes["{driver}"]'
    return f'!("parentUUID" in {own}) || {own}.parentUUID != "{uuid}"'
