"""The figures that are looked up when somebody asks for the metrics: claims, their devices and their pods.

Records are cached by their store, so this costs one look at each record's file.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from dataclasses import dataclass

from agent.hardware.errors import HardwareError
from agent.inventory.published import Hardware, MigComputeInstance, MigPartition
from daemon.metrics.definition import Labels
from plugin.base.errors import PluginError
from plugin.base.metrics import Metrics
from plugin.claim.figures.device_info import Profiles, counted, device_infos, prepared, profiles
from plugin.claim.figures.pods import PodsOfClaims
from plugin.claim.quarantine.census import Census
from plugin.claim.record import Record
from plugin.claim.steps import ClaimSteps
from plugin.machine.node import NodeSnapshot
from scheduler_core.model.claim import ClaimUid

_QUARANTINED = "quarantined"
_UNKNOWN = ""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Told:
    """What is told of the devices of one claim, and what it follows from."""

    record: Record
    pods: tuple[str, ...]
    profiles: Profiles
    labels: tuple[Labels, ...]


class Figures:
    """Measures the claims of one node. Shape: ``pods`` is told of claims by whoever reads them."""

    def __init__(self, steps: ClaimSteps, metrics: Metrics) -> None:
        self.pods = PodsOfClaims()
        self._steps = steps
        self._metrics = metrics
        self._measuring = threading.Lock()
        self._measured: object = None
        self._node: NodeSnapshot | None = None
        self._told: dict[ClaimUid, _Told] = {}

    def refresh(self) -> None:
        """Measure; where the records cannot be read, what was measured last stays."""
        try:
            self.measure(self._steps.store.census(), self._steps.machine.boot.boot_id())
        except (PluginError, HardwareError) as error:
            _log.debug("claims are not measured: %s", error)

    def measure(self, census: Census, boot_id: str) -> None:
        """Set what follows from all records at one moment; what has not changed is not looked at again."""
        with self._measuring:
            node, seen = self._steps.node.last, (census, boot_id, self.pods.changes)
            if node is not self._node or seen != self._measured:
                self._measure(census, boot_id, node)
                self._node, self._measured = node, seen

    def _measure(self, census: Census, boot_id: str, node: NodeSnapshot | None) -> None:
        states = Counter(str(record.state) for record in census.records)
        states[_QUARANTINED] = len(census.quarantined)
        self._metrics.only("claims", "state", states)
        told = [self._told_of(record, node) for record in prepared(census.records, boot_id)]
        instances = Counter(profile for one in told for profile in counted(one.record, one.profiles))
        self._metrics.only("mig_instances", "profile", instances)
        self._metrics.replace("device_info", {labels: 1.0 for one in told for labels in one.labels})
        self._told = {one.record.uid: one for one in told}

    def _told_of(self, record: Record, node: NodeSnapshot | None) -> _Told:
        """Return what is told of a claim; what was told before is used again where it says the same.

        A profile that is known stays what it is: hardware of another one is another device.
        """
        known, pods = self._told.get(record.uid), self.pods.of(record.uid)
        if known is not None and known.record is not record:
            known = None
        if known is not None and _UNKNOWN not in known.profiles:
            found = known.profiles
        else:
            found = profiles(record, lambda hardware: _profile_of(hardware, node))
        if known is not None and (known.pods, known.profiles) == (pods, found):
            return known
        return _Told(record, pods, found, tuple(device_infos(record, pods, found)))


def _profile_of(hardware: Hardware, node: NodeSnapshot | None) -> str:
    name = None if node is None else node.devices.by_hardware.get(hardware)
    found = None if node is None or name is None else node.devices.by_name[name]
    return found.profile.name if isinstance(found, MigPartition | MigComputeInstance) else _UNKNOWN
