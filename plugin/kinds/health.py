"""Which devices work: every device that this process ever described, checked on the machine now by its kind.

Takes the node and its readers; returns one entry per device. The snapshot that claims are resolved with does
not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from agent.hardware.errors import HardwareError
from agent.hardware.ports import Readers
from agent.inventory.published import PublishedDevice
from plugin.kinds.registry import KINDS
from plugin.machine.node import Node
from plugin.machine.seen import SeenHardware
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
    """Reads the health of one node's devices.

    Shape: ``gone`` says why devices lack a program that they need, by name.
    """

    def __init__(self, readers: Readers, node: Node, gone: Callable[[], Mapping[str, str]] = dict) -> None:
        self._readers = readers
        self._node = node
        self._gone = gone
        self._known: dict[DeviceName, PublishedDevice] = {}
        self.last: tuple[DeviceHealth, ...] = ()
        """What was read last; empty while nobody asks."""

    def read(self) -> tuple[DeviceHealth, ...]:
        """Return every device that was ever described, in the order in which they appeared."""
        self.last = found = self._read()
        return found

    def _read(self) -> tuple[DeviceHealth, ...]:
        known, pool = self._known, self._node.name
        try:
            known = known | dict(self._node.snapshot.devices.by_name)
            self._known = known  # several streams may read at once, so a dictionary is never changed
            seen = SeenHardware.on(self._readers)
        except HardwareError as error:
            return tuple(DeviceHealth(pool, str(name), Health.UNKNOWN, str(error)) for name in known)
        gone = self._gone()
        return tuple(_judged(pool, name, device, seen, gone) for name, device in known.items())


def _judged(
    pool: str, name: DeviceName, device: PublishedDevice, seen: SeenHardware, gone: Mapping[str, str]
) -> DeviceHealth:
    why = KINDS.of_published(device).why_ill(device, seen) or gone.get(name, "")
    return DeviceHealth(pool, str(name), Health.UNHEALTHY if why else Health.HEALTHY, why)
