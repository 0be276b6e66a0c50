"""Keeps the MPS daemons of claims running, and ends those that no claim needs.

Takes the records; daemons are started again or ended, each under the lock of its GPU. A daemon that fails is
logged once and tried again at the next look; meanwhile its devices are reported as unhealthy.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from agent.hardware.errors import HardwareError
from plugin.base.errors import PluginError
from plugin.base.locks import Locks
from plugin.claim.record import under_mps
from plugin.claim.record_store import RecordStore
from plugin.machine.lock_target import GPU, LockTarget
from plugin.machine.mps.daemon import Daemon
from plugin.machine.mps.daemons import MpsDaemons

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonCare:
    """Looks after all daemons of a node. Any number of threads and processes may do so at once."""

    daemons: MpsDaemons
    store: RecordStore
    locks: Locks
    _told: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def look_after(self) -> None:
        """Start the daemons that died again, and end those without a claim. Errors are logged."""
        try:
            known = tuple(self.daemons.known())
        except PluginError as error:
            _log.error("the MPS daemons are not looked after: %s", error)
            return
        for daemon in known:
            try:
                if not self._is_well(daemon):
                    self._mend(daemon)
                self._told.pop(daemon.uuid, None)
            except (PluginError, HardwareError) as error:
                self._tell_once(daemon, str(error))

    def _is_well(self, daemon: Daemon) -> bool:
        return self.daemons.is_running(daemon.uuid) and daemon.uuid in self._needed()

    def _mend(self, daemon: Daemon) -> None:
        target = LockTarget(GPU, daemon.gpu)
        with self.locks.hold(target.name, str(target), "look after its MPS daemon"):
            if daemon not in self.daemons.known():
                return  # its claim ended meanwhile
            if daemon.uuid not in self._needed():
                _log.warning("no claim needs the MPS daemon of %s any more", daemon.device)
                self.daemons.end(daemon.uuid)
            elif not self.daemons.is_running(daemon.uuid):
                _log.warning("the MPS daemon of %s died and is started again", daemon.device)
                self.daemons.ensure(daemon)

    def _needed(self) -> frozenset[str]:
        census = self.store.census()
        return under_mps(census.holding) | census.told_uuids

    def _tell_once(self, daemon: Daemon, text: str) -> None:
        if self._told.get(daemon.uuid) != text:
            self._told[daemon.uuid] = text
            _log.error("the MPS daemon of %s cannot be kept: %s", daemon.device, text)
