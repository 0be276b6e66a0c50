"""Which devices work: every device that this process ever described, checked on the machine now by its kind.

Takes the node and its readers; returns one entry per device. The snapshot that claims are resolved with does
not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.hardware.errors import HardwareError
from agent.hardware.ports import Readers
from agent.health.findings import Finding, Findings
from agent.health.rules import HealthRules
from agent.inventory.published import PublishedDevice
from plugin.kinds.registry import KINDS
from plugin.machine.known_health import KnownHealth
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
    """One device. Shape: ``message`` says what is wrong; a healthy device may have one, too."""

    pool: str
    device: str
    health: Health
    message: str = ""


class HealthReader:
    """Reads the health of one node's devices.

    Shape: ``gone`` says why devices lack a program that they need, by name; ``known_health`` what the agent
           heard of them; ``changes`` returns another value whenever ``gone`` would.
    """

    def __init__(
        self,
        readers: Readers,
        node: Node,
        gone: Callable[[], Mapping[str, str]] = dict,
        known_health: KnownHealth | None = None,
        changes: Callable[[], object] = lambda: None,
    ) -> None:
        self._readers = readers
        self._changes = changes
        self._node = node
        self._gone = gone
        self._known_health = known_health or KnownHealth(None, readers.gpus)
        self._known: dict[DeviceName, PublishedDevice] = {}
        self.last: tuple[DeviceHealth, ...] = ()
        """What was read last; empty while nobody asks."""
        self.last_findings: Findings = {}
        """What the agent's rules found wrong with devices when somebody asked last."""

    def news(self) -> object:
        """Return a value that changes when health must be read: news of the agent, or a device that went."""
        return self._known_health.news(), self._changes()

    def findings(self) -> Findings:
        """Return what the agent's rules find wrong with devices, of all that were ever described."""
        self.last_findings = found = self._known_health.findings(self._all_known())
        return found

    @property
    def rules(self) -> HealthRules:
        """Return the rules by which health is judged."""
        return self._known_health.rules

    def read(self) -> tuple[DeviceHealth, ...]:
        """Return every device that was ever described, in the order in which they appeared."""
        self.last = found = self._read()
        return found

    def _read(self) -> tuple[DeviceHealth, ...]:
        known: Mapping[DeviceName, PublishedDevice] = self._known
        pool = self._node.name
        try:
            known = self._all_known()
            seen = SeenHardware.on(self._readers)
        except HardwareError as error:
            return tuple(DeviceHealth(pool, str(name), Health.UNKNOWN, str(error)) for name in known)
        gone, found = self._gone(), self._known_health.findings(known)
        self.last_findings = found
        why = {
            name: KINDS.of_published(device).why_ill(device, seen) or gone.get(name, "")
            for name, device in known.items()
        }
        return tuple(_judged(pool, name, why[name], found.get(name, ())) for name in known)

    def _all_known(self) -> Mapping[DeviceName, PublishedDevice]:
        """Return the devices that were ever described. Raises: HardwareError."""
        # Several streams may read at once, so a dictionary is never changed.
        self._known = {**self._known, **self._node.snapshot.devices.by_name}
        return self._known


def _judged(pool: str, name: DeviceName, why: str, found: Sequence[Finding]) -> DeviceHealth:
    is_ill = bool(why) or any(one.keeps_pods_away for one in found)
    message = "; ".join([*([why] if why else []), *map(str, found)])
    return DeviceHealth(pool, str(name), Health.UNHEALTHY if is_ill else Health.HEALTHY, message)
