"""The devices of this node: the agent's inventory, read once and again where it must be.

Takes readers; returns a snapshot. Reading touches every GPU, a slow one too. So no claim waits for it, unless
the claim names a device that the last snapshot lacks.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from agent.hardware.errors import TimedOut
from agent.hardware.ports import Readers
from agent.hardware.types import GpuInstance, GpuUuid
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.model import NO_FABRIC, Fabric, Inventory, NodeDevices
from agent.inventory.modes import GpuModes
from agent.inventory.numbers.kept import NumbersUnknown
from agent.inventory.numbers.numbering import NumberedGpu, Numbering, in_pci_order
from agent.inventory.options.settings import Settings
from agent.inventory.published import Hardware, MigComputeInstance, MigPartition
from agent.inventory.vfs.rules import VfRules
from agent.policy.applied import settings_on
from agent.policy.resolved import Resolved
from plugin.base.in_flight import HUNG_AFTER_S
from plugin.machine.lock_target import LockTarget
from plugin.machine.texts import gpu_text

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """One reading of the node.

    Shape: ``gpus`` those that could be read, among them every GPU of ``devices``; ``instances`` the GIs of
           each of them; ``fabric`` how they are joined; ``unread`` what could not be read, and why;
           ``inventory`` the node as it was read; ``effect`` what of the policy was in effect then.
    """

    devices: NodeDevices
    gpus: Mapping[GpuUuid, NumberedGpu]
    instances: Mapping[GpuUuid, tuple[GpuInstance, ...]]
    fabric: Fabric = NO_FABRIC
    unread: tuple[str, ...] = ()
    inventory: Inventory | None = None
    effect: Resolved | None = None

    @property
    def driver_version(self) -> str | None:
        """Return the version of the GPU driver at that reading, None on a node without GPUs."""
        versions = self.inventory.versions if self.inventory is not None else None
        return None if versions is None else versions.driver

    def has_graphics(self, hardware: Hardware) -> bool:
        """Whether a MIG device is of a profile with graphics."""
        name = self.devices.by_hardware.get(hardware)
        found = None if name is None else self.devices.by_name[name]
        return isinstance(found, MigPartition | MigComputeInstance) and found.profile.has_graphics

    def text_of(self, target: LockTarget) -> str:
        """Return how messages name what is locked."""
        gpu = self.gpus.get(GpuUuid(target.address))
        return gpu_text(gpu) if gpu else str(target)


class Node:
    """The node of one driver. Units: ``reading_s`` how many seconds another's reading is waited for.

    Shape: ``name`` its own and its pool's; ``options`` what it offers by the options of the program;
           ``numbering`` gives the GPUs their numbers; all as the agent has them.
    """

    def __init__(
        self,
        readers: Readers,
        name: str,
        driver: str,
        options: Settings | None = None,
        *,
        reading_s: float = HUNG_AFTER_S,
        numbering: Numbering = in_pci_order,
    ) -> None:
        self._readers = readers
        self.name = name
        self._driver = driver
        self._options = self._settings = options or Settings()
        self.effect: Resolved | None = None
        self._reading_s = reading_s
        self._numbering = numbering
        self._reading = threading.Lock()
        self._snapshot: NodeSnapshot | None = None

    @property
    def modes(self) -> GpuModes:
        """Return in which modes the GPUs are offered, as the last reading has it."""
        return self._settings.modes

    @property
    def vfs(self) -> VfRules | None:
        """Return how many VFs the NICs shall have, as the last reading has it."""
        return self._settings.vfs

    def follow(self, effect: Resolved | None) -> None:
        """Use what is in effect of the node's policy from the next reading on; None without a policy."""
        if effect != self.effect:
            self.effect = effect
            self._snapshot = None

    @property
    def snapshot(self) -> NodeSnapshot:
        """Return the last reading; the first is made here."""
        return self._snapshot or self.read_again()

    @property
    def last(self) -> NodeSnapshot | None:
        """Return the last reading, None where there is none yet: nothing is read."""
        return self._snapshot

    def read_again(self) -> NodeSnapshot:
        """Read the node anew. Concurrent callers read one after the other.

        Raises: NumbersUnknown while nobody can say which GPU has which name; HardwareError; TimedOut where
                another's reading does not end.
        """
        with self._alone():
            self._snapshot = self._read(self._numbering)
            return self._snapshot

    def read_for_repairs(self) -> NodeSnapshot:
        """Read the node anew, for who finds devices by UUIDs and addresses: names may be unknown yet.

        Raises: HardwareError.
        """
        try:
            return self.read_again()
        except NumbersUnknown as error:
            _log.warning("%s; no claim is prepared before", error)
            return self._read(in_pci_order)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other readings away. Raises: TimedOut."""
        if not self._reading.acquire(timeout=self._reading_s):
            reason = f"another reading has not come to its end for {self._reading_s:g} s"
            raise TimedOut("reading", f"node {self.name}", reason)
        try:
            yield
        finally:
            self._reading.release()

    def _read(self, numbering: Numbering) -> NodeSnapshot:
        inventory, effect = discover(self._readers, self.name, numbering), self.effect
        settings = self._options if effect is None else settings_on(self._options, effect, inventory)
        self._settings = settings
        return NodeSnapshot(
            describe(settings.on(inventory), self._driver),
            {entry.gpu.uuid: entry.gpu for entry in inventory.gpus},
            {entry.gpu.uuid: entry.instances for entry in inventory.gpus},
            inventory.fabric,
            tuple(f"{gone.what}: {gone.reason}" for gone in inventory.unreadable),
            inventory,
            effect,
        )
