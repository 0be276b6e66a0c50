"""Tells of slices of others that have names of this node's: in the log, the metrics, an event on the Node.

This node's get other names, so nothing is missing. But such objects come from a mistake, or from somebody who
means to keep the node from publishing.
"""

from __future__ import annotations

import logging
from typing import Final

from agent.publishing.errors import NameTaken
from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents

_REASON: Final = "SliceNameTaken"
_log = logging.getLogger("agent.publishing")


class TakenNames:
    """What was told already. For one thread."""

    def __init__(self, metrics: Metrics, node_events: NodeEvents) -> None:
        self._metrics = metrics
        self._node_events = node_events
        self._told: set[str] = set()

    def heard(self, error: NameTaken) -> None:
        """Tell of a name that is taken, once for each object that has one."""
        self._metrics.count("taken_names_total")
        if error.name in self._told:
            return
        self._told.add(error.name)
        text = (
            f"{error}; this node's slice gets another name; the administrator finds out who made that one, "
            "and deletes it"
        )
        _log.warning(text)
        self._node_events.warn(_REASON, text)
