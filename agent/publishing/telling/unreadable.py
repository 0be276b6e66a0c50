"""Tells of devices that cannot be read for a moment: in the log, the metrics, by an event on the Node."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from agent.inventory.model import NodeDevices
from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents
from agent.publishing.taints.unreadable import UNREADABLE
from daemon.log_fields import fields
from scheduler_core.model.device import DeviceName

_log = logging.getLogger("agent.publishing")


class UnreadableDevices:
    """Which devices could not be read at the last look, and whom to tell. For one thread."""

    def __init__(self, metrics: Metrics, node_events: NodeEvents) -> None:
        self._metrics = metrics
        self._node_events = node_events
        self._last: frozenset[DeviceName] = frozenset()

    def discovered(self, devices: NodeDevices) -> None:
        """Tell what changed since the last look."""
        before, self._last = self._last, devices.remembered
        if before == self._last:
            return
        self._metrics.set("unreadable_devices", len(self._last))
        if new := [name for name in devices.by_name if name in self._last - before]:
            text = f"{_joined(new)}: cannot be read now; published as before, with the taint {UNREADABLE.key}"
            _log.warning(text, extra=_about(new))
            self._node_events.warn("DevicesUnreadable", text)
        over = before - self._last
        if back := [name for name in devices.by_name if name in over]:
            text = f"{_joined(back)}: can be read again"
            _log.info(text, extra=_about(back))
            self._node_events.note("DevicesReadable", text)
        if gone := sorted(over - devices.by_name.keys()):
            text = f"{_joined(gone)}: could not be read several times and is not offered any more"
            _log.warning(text, extra=_about(gone))
            self._node_events.warn("DevicesGone", f"{text}; the operator looks at the hardware")


def _about(names: Collection[DeviceName]) -> dict[str, Any]:
    return fields(device=",".join(names))


def _joined(names: Collection[DeviceName]) -> str:
    first, *others = names
    return f"{first} and {len(others)} more" if others else first
