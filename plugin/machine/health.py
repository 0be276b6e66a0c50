"""Which devices work: every device that this process ever described, checked on the machine now.

The node and its readers enter, one entry per device leaves. Only GPUs and NICs are listed, which is cheap.
The snapshot that claims are resolved with does not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from agent.hardware.errors import HardwareError
from agent.hardware.ports import Readers
from agent.hardware.types import Bdf, Gpu, GpuUuid, PhysicalFunction, Unreadable, VirtualFunction
from agent.inventory.model import GpuPartition, MigPartition, NicVf, PublishedDevice, WholeGpu, WholeNic
from plugin.machine.node import Node
from scheduler_core.model.device import DeviceName


class Health(StrEnum):
    """What is known of a device."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """One device. Shape: ``message`` empty where it is healthy."""

    pool: str
    device: str
    health: Health
    message: str = ""


class HealthReader:
    """Reads the health of one node's devices."""

    def __init__(self, readers: Readers, node: Node) -> None:
        self._readers = readers
        self._node = node
        self._known: dict[DeviceName, PublishedDevice] = {}

    def read(self) -> tuple[DeviceHealth, ...]:
        """Return every device that was ever described, in the order in which they appeared."""
        devices = self._node.snapshot.devices
        known = self._known | dict(devices.by_name)
        self._known = known  # several streams may read at once, so a dictionary is never changed
        pool = devices.pool.id.name
        try:
            seen = _Seen.on(self._readers)
        except HardwareError as error:
            return tuple(DeviceHealth(pool, str(name), Health.UNKNOWN, str(error)) for name in known)
        return tuple(_judged(pool, name, device, seen) for name, device in known.items())


@dataclass(frozen=True, slots=True)
class _Seen:
    """The hardware that answered, and the hardware that could not be read."""

    gpus: frozenset[GpuUuid]
    functions: frozenset[Bdf]
    unreadable: tuple[Unreadable, ...]

    @classmethod
    def on(cls, readers: Readers) -> _Seen:
        gpus, nics = readers.gpus.gpus(), readers.pci.nics()
        return cls(
            frozenset(gpu.uuid for gpu in gpus if isinstance(gpu, Gpu)),
            frozenset(_functions(nics)),
            tuple(found for found in (*gpus, *nics) if isinstance(found, Unreadable)),
        )

    def why_not(self, *names: str) -> str:
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


def _why_gpu_is_missing(gpu: Gpu, seen: _Seen) -> str:
    return "" if gpu.uuid in seen.gpus else seen.why_not(f"GPU {gpu.index}", gpu.uuid)


def _judged(pool: str, name: DeviceName, device: PublishedDevice, seen: _Seen) -> DeviceHealth:
    match device:
        case WholeGpu(gpu=gpu) | MigPartition(gpu=gpu):
            missing = _why_gpu_is_missing(gpu, seen)
        case GpuPartition(gpus=gpus):
            missing = "; ".join(filter(None, (_why_gpu_is_missing(gpu, seen) for gpu in gpus)))
        case WholeNic(pf=PhysicalFunction(function=function)) | NicVf(vf=VirtualFunction(function=function)):
            bdf = function.bdf
            missing = "" if bdf in seen.functions else seen.why_not(f"NIC {bdf}", bdf)
    health = Health.UNHEALTHY if missing else Health.HEALTHY
    return DeviceHealth(pool, str(name), health, missing)
