"""Tells what a node withholds: in the log, in the metrics, and as one event on the Node for each change.

Takes what each discovery found. What is said once is not said again before it changes. The first event after
the start is no warning: a NIC that the node itself uses is as it should be.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Final

from agent.inventory.withheld import Withheld, WithheldAlike, alike
from agent.publishing.forms import Found
from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents
from daemon.log_fields import fields

_log = logging.getLogger("agent.publishing")
_WITHHELD: Final = "DevicesWithheld"
_OVER: Final = "DevicesNoLongerWithheld"
_MOST: Final = 4  # texts in one event, whose text the API limits to 1 KiB


class Withholding:
    """What the last discovery withheld, and whom to tell. For one thread."""

    def __init__(self, metrics: Metrics, node_events: NodeEvents) -> None:
        self._metrics = metrics
        self._node_events = node_events
        self._last: tuple[Withheld, ...] | None = None

    def discovered(self, found: Found) -> None:
        """Tell what changed since the last discovery."""
        before, now = self._last, found.devices.withheld
        if before == now:
            return
        self._last = now
        counts = Counter((("kind", one.kind), ("reason", str(one.reason.cause))) for one in now)
        self._metrics.replace("withheld_devices", {labels: float(count) for labels, count in counts.items()})
        known = frozenset(before or ())
        if new := [one for one in now if one not in known]:
            self._tell_new(alike(new), is_start=before is None)
        left = {one.device for one in now}
        if over := [one.device for one in before or () if one.device not in left]:
            self._tell_over(over)

    def _tell_new(self, told: Sequence[WithheldAlike], *, is_start: bool) -> None:
        for one in told:
            _log.warning("not offered: %s", one, extra=fields(device=",".join(one.devices)))
        tell = self._node_events.note if is_start else self._node_events.warn
        tell(_WITHHELD, f"not offered: {_joined(list(map(str, told)), ' | ')}")

    def _tell_over(self, devices: Sequence[str]) -> None:
        _log.info("no longer withheld: %s", ", ".join(devices), extra=fields(device=",".join(devices)))
        self._node_events.note(_OVER, f"no longer withheld: {_joined(devices, ', ')}")


def _joined(told: Sequence[str], between: str) -> str:
    """Return the first of the texts and the number of the others."""
    more = len(told) - _MOST
    rest = [f"and {more} more; the agent's log has all of them"] if more > 0 else []
    return between.join([*told[:_MOST], *rest])
