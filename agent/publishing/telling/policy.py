"""Tells what of the node's policy is in effect, in the log and the metrics; the plugin writes the events."""

from __future__ import annotations

import logging

from agent.policy.effect_file import Stored
from agent.publishing.metrics import Metrics

_log = logging.getLogger("agent.publishing")


class PolicyTold:
    """What was said last of the policy. For one thread."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def heard(self, stored: Stored) -> None:
        """Tell what the plugin has put into effect."""
        waiting = stored.effect.waiting
        self._metrics.set("policy_refused", float(bool(stored.problem)))
        self._metrics.set("policy_waiting_devices", len(waiting))
        if stored.problem:
            _log.error("the policy is refused, and what was in effect stays: %s", stored.problem)
        for one in waiting:
            _log.info("the policy is not in effect yet on %s: %s", one.device, one.why)
