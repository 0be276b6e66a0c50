"""Counts what was read of the machine, and what people were told of it."""

from __future__ import annotations

from agent.hardware.errors import nvml_code
from agent.inventory.model import Inventory
from agent.inventory.withheld import Cause
from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents


class CountedEvents:
    """A writer of events about a Node that counts them."""

    def __init__(self, events: NodeEvents, metrics: Metrics) -> None:
        self._events = events
        self._metrics = metrics

    def warn(self, reason: str, text: str) -> None:
        """Report that something is wrong."""
        self._metrics.count("node_events_total", type="Warning", reason=reason)
        self._events.warn(reason, text)

    def note(self, reason: str, text: str) -> None:
        """Report that something is better than before."""
        self._metrics.count("node_events_total", type="Normal", reason=reason)
        self._events.note(reason, text)


def read_gpus(metrics: Metrics, read: Inventory) -> None:
    """Measure which of the node's GPUs a look found, and count what it could not read."""
    found = {entry.gpu.bdf for entry in read.gpus}
    metrics.set("gpus_found", len(found))
    missing = {one.function.bdf for one in read.unlisted if one.reason.cause is not Cause.VFIO_DRIVER}
    metrics.set("gpus_expected", len(found | missing))
    for one in read.unreadable:
        metrics.count("errors_total", of="device", error=type(one).__name__, nvml=nvml_code(one.reason))
