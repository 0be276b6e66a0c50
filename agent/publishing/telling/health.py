"""Tells what is wrong with devices: in the log, the metrics, and by an event on the Node for each change.

Takes each judgement. What is said once is not said again before it changes.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from agent.health.causes import Cause, Severity
from agent.health.findings import Finding, Findings
from agent.publishing.forms import Found
from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents
from daemon.log_fields import fields
from daemon.metrics.definition import Labels
from scheduler_core.model.device import DeviceName

_log = logging.getLogger("agent.health")
_ILL: Final = "DevicesUnhealthy"
_NOTED: Final = "DevicesNoted"
_HEALED: Final = "DevicesHealed"
_MOST: Final = 2  # findings in one event, whose text the API limits to 1 KiB
_FOLLOWS: Final[Mapping[Severity, str]] = {
    Severity.NOTE: "nothing else follows",
    Severity.NO_NEW_PODS: "no new pod gets it",
    Severity.EVICT: "no new pod gets it, and pods that have it are evicted",
}
_Said = dict[tuple[DeviceName, Cause], Finding]
_Told = tuple[str, Sequence[DeviceName]]
"""A sentence, and the devices that it is about."""


class HealthTold:
    """What was wrong at the last judgement, and whom to tell. For one thread."""

    def __init__(self, metrics: Metrics, node_events: NodeEvents) -> None:
        self._metrics = metrics
        self._node_events = node_events
        self._last: _Said = {}

    def judged(self, found: Found) -> None:
        """Tell what changed since the last judgement."""
        health = found.health
        counts = Counter((str(one.cause), str(one.severity)) for own in health.values() for one in own)
        series: dict[Labels, float] = {
            (("cause", cause), ("severity", severity)): float(count)
            for (cause, severity), count in counts.items()
        }
        self._metrics.replace("unhealthy_devices", series)
        before, self._last = self._last, _said(health)
        new = {
            key: one for key, one in self._last.items() if key not in before or _is_worse(one, before[key])
        }
        self._tell_new({key: one for key, one in new.items() if one.keeps_pods_away}, _ILL)
        self._tell_new({key: one for key, one in new.items() if not one.keeps_pods_away}, _NOTED)
        there = {*found.devices.by_name, *health}
        over = {key: one for key, one in before.items() if key not in self._last and key[0] in there}
        if over:
            told = [(f"{_joined(names)}: {cause} is over", names) for cause, names in _by_cause(over).items()]
            _log_all(told, logging.INFO)
            self._node_events.note(_HEALED, _short(told))

    def _tell_new(self, new: _Said, reason: str) -> None:
        if not new:
            return
        groups: dict[Finding, list[DeviceName]] = {}
        for (name, _), one in new.items():
            groups.setdefault(replace(one, since_s=0.0), []).append(name)
        told = [
            (f"{_joined(names)}: {one}; {_FOLLOWS[one.severity]}", names) for one, names in groups.items()
        ]
        is_ill = reason == _ILL
        _log_all(told, logging.WARNING if is_ill else logging.INFO)
        (self._node_events.warn if is_ill else self._node_events.note)(reason, _short(told))


def _log_all(told: Sequence[_Told], level: int) -> None:
    for text, names in told:
        _log.log(level, "%s", text, extra=fields(device=",".join(names)))


def _said(health: Findings) -> _Said:
    return {(name, one.cause): one for name, found in health.items() for one in found}


def _is_worse(one: Finding, before: Finding) -> bool:
    return one.severity.rank > before.severity.rank or bool(set(one.xids) - set(before.xids))


def _by_cause(said: _Said) -> dict[Cause, list[DeviceName]]:
    groups: dict[Cause, list[DeviceName]] = {}
    for name, cause in said:
        groups.setdefault(cause, []).append(name)
    return groups


def _joined(names: Sequence[DeviceName]) -> str:
    first, *others = names
    return f"{first} and {len(others)} more devices" if others else first


def _short(told: Sequence[_Told]) -> str:
    more = len(told) - _MOST
    rest = [f"and {more} more; the agent's log has all of them"] if more > 0 else []
    return " | ".join([*(text for text, _ in told[:_MOST]), *rest])
