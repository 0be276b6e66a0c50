"""Tells of foreign MIG instances: in the log, the metrics, and by an event on the Node for each change.

Takes what each discovery found. What is said once is not said again before it changes.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from agent.inventory.foreign.found import FoundForeign, InTheWay
from agent.inventory.names import gpu_name
from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents
from daemon.log_fields import fields

_log = logging.getLogger("agent.publishing")
_FOREIGN: Final = "ForeignMigInstances"
_OVER: Final = "ForeignMigInstancesGone"
_MOST: Final = 2  # instances in one event, whose text the API limits to 1 KiB


class ForeignInstances:
    """The foreign instances of the last discovery, and whom to tell. For one thread."""

    def __init__(self, metrics: Metrics, node_events: NodeEvents) -> None:
        self._metrics = metrics
        self._node_events = node_events
        self._last: dict[str, str] = {}

    def discovered(self, in_the_way: InTheWay) -> None:
        """Tell what changed since the last discovery."""
        counts = Counter(gpu_name(one.gpu.number) for one in in_the_way.instances)
        self._metrics.only(
            "foreign_mig_instances", "gpu", {str(gpu): float(count) for gpu, count in counts.items()}
        )
        before, self._last = self._last, {one.sentence: one.name for one in in_the_way.instances}
        if new := [one for one in in_the_way.instances if one.sentence not in before]:
            self._tell_new(new, in_the_way)
        left = set(self._last.values())
        if over := [name for name in before.values() if name not in left]:
            text = f"gone, or a record of a claim names it now: {', '.join(over)}; it is in nobody's way"
            _log.info("%s", text)
            self._node_events.note(_OVER, text)

    def _tell_new(self, new: list[FoundForeign], in_the_way: InTheWay) -> None:
        told = [_told(one, in_the_way) for one in new]
        for one, sentence in zip(new, told, strict=True):
            _log.warning("%s", sentence, extra=fields(device=gpu_name(one.gpu.number)))
        more = len(told) - _MOST
        rest = [f"and {more} more; the agent's log has all of them"] if more > 0 else []
        self._node_events.warn(_FOREIGN, " | ".join([*told[:_MOST], *rest]))


def _told(one: FoundForeign, in_the_way: InTheWay) -> str:
    count = sum(taken == one for taken in in_the_way.devices.values())
    return f"{one.sentence}; {count} devices that overlap it have the taint {one.taint.key}={one.name}"
