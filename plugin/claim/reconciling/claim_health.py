"""Which devices of prepared claims are not well, by the agent's judgement, and which claims that changed for.

The claims' statuses are told from it. Any thread may ask.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from agent.hardware.errors import HardwareError
from agent.health.findings import Findings
from plugin.base.errors import PluginError
from plugin.claim.record import Record
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.kinds.health import HealthReader
from scheduler_core.model.claim import ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceName
from scheduler_core.model.ownership import MULTI_NODE

_log = logging.getLogger(__name__)
LOOK_S: Final = 0.25
"""How long a change may go unnoticed."""

Tell = Callable[[ClaimUid, ClaimRef, str], None]
"""Tells the users of a claim what is wrong with its devices, nothing where all of it is over."""


@dataclass(frozen=True, slots=True)
class Unhealthy:
    """What keeps a prepared device from being well. Units: ``since_s`` seconds since 1970."""

    why: str
    since_s: float


class ClaimHealth:
    """The health of the devices of prepared claims. One thread looks; any thread may ask ``of``."""

    def __init__(self, store: RecordStore, health: HealthReader) -> None:
        self._store = store
        self._health = health
        self._news: object = None
        self._told: dict[ClaimUid, Mapping[str, Unhealthy]] = {}

    def of(self, uid: ClaimUid) -> Mapping[str, Unhealthy]:
        """Return the devices of a claim that are not well, by name. Raises: PluginError."""
        record, _ = self._store.peek(uid)
        return {} if record is None else _unhealthy(record, self._findings())

    def look(self, tell: Tell) -> None:
        """Tell the users of each claim for whose devices something changed, once for each change."""
        news = self._health.news()
        if news == self._news:
            return
        try:
            found, records = self._findings(), self._prepared()
        except (HardwareError, PluginError) as error:  # the next look tries again
            _log.debug("whether devices of claims are well is unknown: %s", error)
            return
        self._news = news
        before, self._told = self._told, {}
        for record in records:
            now = _unhealthy(record, found)
            if now:
                self._told[record.uid] = now
            if now != before.get(record.uid, {}):
                self._log(record, now)
                tell(record.uid, record.ref, _text(now))

    def _findings(self) -> Findings:
        return self._health.findings()

    def _prepared(self) -> Iterable[Record]:
        return [one for one in self._store.census().records if one.state is State.COMPLETED]

    def _log(self, record: Record, now: Mapping[str, Unhealthy]) -> None:
        if now:
            _log.warning(
                "claim %s (%s) has devices that are not well: %s", record.ref, record.uid, _text(now)
            )
        else:
            _log.info("claim %s (%s) has no device any more that is not well", record.ref, record.uid)


def _unhealthy(record: Record, found: Findings) -> dict[str, Unhealthy]:
    """Return the devices of a claim from which new pods are kept: a note says nothing against them."""
    devices = {}
    for device in record.devices:
        own = found.get(DeviceName(device.device), ()) if not device.pool.startswith(MULTI_NODE) else ()
        serious = [one for one in own if one.keeps_pods_away]
        if serious:
            why = "; ".join(map(str, own))
            devices[device.device] = Unhealthy(why, min(one.since_s for one in serious))
    return devices


def _text(unhealthy: Mapping[str, Unhealthy]) -> str:
    return "; ".join(f"device {name}: {one.why}" for name, one in unhealthy.items())
