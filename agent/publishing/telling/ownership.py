"""Tells who allocates a node's devices: in the log, in the metrics, and as one event on the Node per change.

Takes what the Node's label says and what the API server stored. A server that drops taints cannot keep
kube-scheduler away, so the controller does not own the node there, whatever the label says.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents
from agent.publishing.taints.owned import is_marked
from scheduler_core.model.ownership import CONTROLLER, OWNER
from scheduler_core.publishing.documents import Document

KUBE_SCHEDULER: Final = "kube-scheduler"
"""Who allocates where the label names nobody else."""
_KNOWN: Final = ("", KUBE_SCHEDULER, CONTROLLER)
_TAKEN: Final = "DevicesOwnedByController"
_NOT_TAKEN: Final = "DevicesNotOwnedByController"
_GIVEN_BACK: Final = "DevicesOwnedByKubeScheduler"
_WRONG: Final = "UnknownAllocator"
_log = logging.getLogger("agent.publishing")


class Ownership:
    """Who allocates the devices of a node, and whom to tell. For one thread."""

    def __init__(self, node: str, metrics: Metrics, node_events: NodeEvents) -> None:
        self._node = node
        self._metrics = metrics
        self._node_events = node_events
        self._last = "", False

    def stored(self, allocator: str, slices: Sequence[Document]) -> None:
        """Tell what changed. Shape: ``slices`` are all v1 slices, stored as this label wants them."""
        wants_controller = allocator == CONTROLLER
        now = allocator, wants_controller and is_marked(slices)
        owner = CONTROLLER if now[1] else KUBE_SCHEDULER
        self._metrics.only("allocator", "allocator", {owner: 1.0})
        self._metrics.set("allocator_refused", float(wants_controller and owner != CONTROLLER))
        if now == self._last:
            return
        before, self._last = self._last, now
        self._tell(allocator, is_owned=now[1], was_owned=before[1])

    def _tell(self, allocator: str, *, is_owned: bool, was_owned: bool) -> None:
        label = f"label {OWNER}={allocator} of Node {self._node}"
        if is_owned:
            self._note(_TAKEN, f"{label}: every device has the taint, only the controller allocates them")
        elif allocator == CONTROLLER:
            text = (
                "has no effect: the API server drops taints of devices, so kube-scheduler goes on allocating "
                "them and the controller does not; the cluster administrator must switch on the feature gate "
                "DRADeviceTaints or remove the label"
            )
            self._warn(_NOT_TAKEN, f"{label} {text}")
        elif allocator not in _KNOWN:
            self._warn(_WRONG, f'{label} must be "{CONTROLLER}" or absent: kube-scheduler allocates')
        elif was_owned:
            text = "no device has the taint any more, kube-scheduler allocates them"
            self._note(_GIVEN_BACK, f"Node {self._node}: {text}")

    def _note(self, reason: str, text: str) -> None:
        _log.info(text)
        self._node_events.note(reason, text)

    def _warn(self, reason: str, text: str) -> None:
        _log.warning(text)
        self._node_events.warn(reason, text)
