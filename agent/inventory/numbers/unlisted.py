"""PURE: GPUs that PCI shows and the driver does not list: why, and as which devices they are published.

They are published with a taint that keeps every claim away, so that people and programs see that the GPU
exists and which name it has. Their type is not ``gpu``: no class selects them, and a claim for all GPUs of a
node gets those that work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from agent.hardware.types import PciFunction, Unreadable
from agent.inventory.names import gpu_name
from agent.inventory.topology import address_attribute, topology_attributes
from agent.inventory.withheld import Cause, Reason
from scheduler_core.model.device import Device
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.pool import Pool
from scheduler_core.model.taints import Effect, Taint

TYPE: Final = "gpu-not-in-driver"
TAINT: Final = "tangram.dev/gpu-not-in-driver"
"""The key of the taint; its value is the cause."""
_NVIDIA: Final = "nvidia"
_USER_SPACE: Final = "vfio"


@dataclass(frozen=True, slots=True)
class UnlistedGpu:
    """A GPU that PCI shows and the driver does not list. Shape: ``number`` is that of its name."""

    number: int
    function: PciFunction
    reason: Reason

    def __str__(self) -> str:
        place = f"on PCI at {self.function.bdf}, not in the driver"
        return f"{gpu_name(self.number)}: {place}: {self.reason}"


def why_unlisted(function: PciFunction, unreadable: Unreadable | None = None) -> Reason:
    """Return why the driver does not list a GPU, or what of it cannot be read.

    Shape: ``unreadable`` stands for the GPU if the driver lists it.
    """
    driver = function.driver
    if driver is None:
        remedy = "the operator binds it to the driver, or leaves it out of the machine"
        return Reason(Cause.NO_DRIVER, "no kernel driver has it", remedy)
    text = f"kernel driver {driver} has it"
    if _USER_SPACE in driver:
        remedy = "the operator gives it back to the driver when nobody uses it by VFIO any more"
        return Reason(Cause.VFIO_DRIVER, f"{text}, for user space", remedy)
    if driver != _NVIDIA:
        return Reason(Cause.OTHER_DRIVER, text, "the operator unloads that driver")
    if unreadable is not None and not unreadable.is_lost:
        return Reason(Cause.UNREADABLE, unreadable.reason, "it is listed again once the driver reads it")
    remedy = "the operator looks for Xid errors in the kernel's log, and resets the GPU"
    why = f"has lost it: {unreadable.reason}" if unreadable is not None else "does not list it"
    return Reason(Cause.DEAD, f"{text}, and {why}", remedy)


def with_unlisted(pool: Pool, unlisted: Iterable[UnlistedGpu]) -> Pool:
    """Return a v1 pool with the unlisted GPUs behind all other devices, each with its taint."""
    return replace(pool, devices=(*pool.devices, *(_device(one, pool) for one in unlisted)))


def _device(unlisted: UnlistedGpu, pool: Pool) -> Device:
    driver = pool.id.driver
    return Device(
        name=gpu_name(unlisted.number),
        attributes={
            qualified("type", driver): TYPE,
            **topology_attributes(unlisted.function, driver),
            **address_attribute(unlisted.function),
        },
        nodes=OnNode(pool.id.name),
        taints=(Taint(TAINT, str(unlisted.reason.cause), Effect.NO_SCHEDULE),),
    )
