"""The figures that are looked up when somebody asks for the metrics: claims, their devices and their pods.

Records are cached by their store, so this costs one look at each record's file.
"""

from __future__ import annotations

import logging
from collections import Counter

from agent.hardware.errors import HardwareError
from agent.inventory.published import Hardware, MigComputeInstance, MigPartition
from plugin.base.errors import PluginError
from plugin.base.metrics import Metrics
from plugin.claim.figures.device_info import device_infos, prepared, profiles
from plugin.claim.figures.pods import PodsOfClaims
from plugin.claim.quarantine.census import Census
from plugin.claim.steps import ClaimSteps

_QUARANTINED = "quarantined"
_log = logging.getLogger(__name__)


class Figures:
    """Measures the claims of one node. Shape: ``pods`` is told of claims by whoever reads them."""

    def __init__(self, steps: ClaimSteps, metrics: Metrics) -> None:
        self.pods = PodsOfClaims()
        self._steps = steps
        self._metrics = metrics
        self._measured: object = None

    def refresh(self) -> None:
        """Measure; where the records cannot be read, what was measured last stays."""
        try:
            self.measure(self._steps.store.census(), self._steps.machine.boot.boot_id())
        except (PluginError, HardwareError) as error:
            _log.debug("claims are not measured: %s", error)

    def measure(self, census: Census, boot_id: str) -> None:
        """Set what follows from all records at one moment; what has not changed is not looked at again."""
        seen = census, boot_id, self.pods.changes, self._steps.node.last
        if seen == self._measured:
            return
        self._measured = seen
        states = Counter(str(record.state) for record in census.records)
        states[_QUARANTINED] = len(census.quarantined)
        self._metrics.only("claims", "state", states)
        records = prepared(census.records, boot_id)
        instances = Counter(profiles(records, self._profile_of))
        self._metrics.only("mig_instances", "profile", instances)
        infos = device_infos(records, self.pods.of, self._profile_of)
        self._metrics.replace("device_info", dict.fromkeys(infos, 1.0))

    def _profile_of(self, hardware: Hardware) -> str:
        last = self._steps.node.last
        name = None if last is None else last.devices.by_hardware.get(hardware)
        found = None if last is None or name is None else last.devices.by_name[name]
        return found.profile.name if isinstance(found, MigPartition | MigComputeInstance) else ""
