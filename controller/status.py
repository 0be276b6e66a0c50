"""What a running controller knows, for people and programs that ask: ``tangram controller status``.

The loop's values are copied before they are read, and nothing here waits for the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from controller.run.loop import Loop
from daemon.logs import level
from daemon.metrics.registry import release
from daemon.status.last_errors import LastErrors
from daemon.status.page import Row, Status, Table, duration

KNOWN: Final = "whether it leads, what it watches, its nodes, the pods that wait and why, the last errors"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerState:
    """What one replica knows. Units: ``clock`` seconds, that of the loop; ``began_at`` seconds of it."""

    loop: Loop
    driver: str
    identity: str
    errors: LastErrors
    is_leading: Callable[[], bool]
    clock: Callable[[], float]
    began_at: float

    def status(self) -> Status:
        """Return what is known now."""
        coordinator = self.loop.coordinator
        facts = {
            "program": "controller",
            "version": release(),
            "identity": self.identity,
            "driver": self.driver,
            "running_for": duration(self.clock() - self.began_at),
            "log_level": level(),
            "ready": self.loop.is_ready,
            "leads": self.is_leading(),
            "owned_nodes": len(coordinator.seen.owned),
            "pods_in_flight": coordinator.in_flight,
        }
        return Status(
            facts,
            (
                Table("watched", ("LISTED", "KIND"), list(self._watched()), _watched_cells),
                Table("waiting", ("AGE", "POD"), list(self._waiting()), _waiting_cells),
                self.errors.table(),
            ),
        )

    def _watched(self) -> Iterator[Row]:
        for one in self.loop.watched:
            yield {"kind": one.kind, "listed": one.is_synced}

    def _waiting(self) -> Iterator[Row]:
        """Yield the pods that wait, those that wait longest first."""
        standing, now = self.loop.coordinator.standing, self.clock()
        notes = standing.notes.copy()
        for uid, since in sorted(standing.since.copy().items(), key=lambda each: each[1]):
            pod = standing.seen.waiting.get(uid)
            if pod is not None:
                yield {
                    "namespace": pod.ref.namespace,
                    "name": pod.ref.name,
                    "uid": uid,
                    "age_seconds": round(max(0.0, now - since), 1),
                    "why": notes.get(uid) or pod.told or "",
                }


def _watched_cells(row: Row) -> tuple[str, ...]:
    return "yes" if row["listed"] else "no", row["kind"]


def _waiting_cells(row: Row) -> tuple[str, ...]:
    why = f": {row['why']}" if row["why"] else ""
    return duration(row["age_seconds"]), f"{row['namespace']}/{row['name']}{why}"
