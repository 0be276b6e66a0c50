"""Tells of GPUs that PCI shows and the driver does not list: in the log, the metrics, and on the Node.

Takes what each discovery found. What is said once is not said again before it changes.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from agent.inventory.names import gpu_name
from agent.inventory.numbers.unlisted import UnlistedGpu
from agent.inventory.withheld import Cause
from agent.publishing.forms import Found
from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents
from daemon.log_fields import fields

_log = logging.getLogger("agent.publishing")
_UNLISTED: Final = "GpusNotInDriver"
_OVER: Final = "GpusInDriver"
_MOST: Final = 3  # GPUs in one event, whose text the API limits to 1 KiB


class Unlisted:
    """The GPUs that the last discovery found outside the driver, and whom to tell. For one thread."""

    def __init__(self, metrics: Metrics, node_events: NodeEvents) -> None:
        self._metrics = metrics
        self._node_events = node_events
        self._last: tuple[UnlistedGpu, ...] | None = None

    def discovered(self, found: Found) -> None:
        """Tell what changed since the last discovery."""
        before, now = self._last, found.devices.unlisted
        if before == now:
            return
        self._last = now
        counts = Counter(str(one.reason.cause) for one in now)
        self._metrics.only(
            "unlisted_gpus", "reason", {cause: float(count) for cause, count in counts.items()}
        )
        if new := [one for one in now if one not in (before or ())]:
            self._tell_new(new)
        left = {one.number for one in now}
        if over := [one for one in before or () if one.number not in left]:
            text = f"no longer outside the driver: {', '.join(gpu_name(one.number) for one in over)}"
            _log.info("%s", text, extra=_about(over))
            self._node_events.note(_OVER, text)

    def _tell_new(self, new: list[UnlistedGpu]) -> None:
        """Tell of GPUs; those that were given to user space are as somebody wanted them."""
        told = [str(one) for one in new]
        for one in new:
            _log.warning("%s", one, extra=_about([one]))
        more = len(told) - _MOST
        rest = [f"and {more} more; the agent's log has all of them"] if more > 0 else []
        is_wanted = all(one.reason.cause is Cause.VFIO_DRIVER for one in new)
        tell = self._node_events.note if is_wanted else self._node_events.warn
        tell(_UNLISTED, " | ".join([*told[:_MOST], *rest]))


def _about(gpus: Sequence[UnlistedGpu]) -> dict[str, Any]:
    return fields(device=",".join(gpu_name(one.number) for one in gpus))
