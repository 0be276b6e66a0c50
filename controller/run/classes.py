"""Resource classes in the controller: classes of the engine, and their statuses at the server.

Takes ResourceClass objects; returns writes of statuses that are due. For one thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from controller.classes.statuses import ClassStatuses
from controller.classes.turns import StatusTurns, StatusWrite
from controller.run.writer import Outcome
from controller.state.cluster_seen import ClusterSeen, Effect
from scheduler_core.base.errors import CoreError
from scheduler_core.frontends.classes.advice import why_unserved
from scheduler_core.frontends.classes.claims import engine_class
from scheduler_core.frontends.classes.decode import decode_resource_class
from scheduler_core.frontends.classes.pods import DOMAIN

_log: Final = logging.getLogger("controller")


class ResourceClasses:
    """The resource classes of a cluster.

    Units: ``clock`` in seconds; ``now`` returns a time stamp of the API.
    """

    def __init__(self, seen: ClusterSeen, clock: Callable[[], float], now: Callable[[], str]) -> None:
        self._seen = seen
        self._statuses = ClassStatuses(seen.devices)
        self._turns = StatusTurns(self._statuses, clock, now)

    def changed(self, name: str, document: Mapping[str, Any] | None) -> Effect:
        """Take in a class that is new, has changed or is gone."""
        if document is None:
            self._statuses.remove_class(name)
            self._seen.unserved_classes.pop(name, None)
            return self._seen.remove_class(f"{DOMAIN}{name}")
        self._statuses.set_class(document)
        self._seen.unserved_classes.pop(name, None)
        try:
            read = decode_resource_class(document)
            found = engine_class(read, self._seen.driver)
        except CoreError as error:
            _log.warning("pods that ask for this class get nothing: %s", error)
            self._seen.unserved_classes[name] = str(error)
            return self._seen.remove_class(f"{DOMAIN}{name}")
        if unserved := why_unserved(read):
            self._seen.unserved_classes[name] = f"ResourceClass {name}: {unserved}"
        if self._seen.devices.classes.get(found.name) == found:
            return Effect()  # only its status has changed
        return self._seen.set_class(found)

    def due(self) -> tuple[StatusWrite, ...]:
        """Return the writes that are to be sent now."""
        return self._turns.due()

    def ended(self, write: StatusWrite, outcome: Outcome) -> None:
        """Take in what became of a write."""
        self._turns.ended(write.name, is_written=outcome.failure is None)
