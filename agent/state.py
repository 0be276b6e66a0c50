"""What a running agent knows, for people and programs that ask: ``tangram agent status``.

Nothing here waits for a lock or for hardware: what was found last is told, and the loop only replaces it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Final

from agent.health.findings import Findings
from agent.health.status import causes_table
from agent.health.tainted import judged, tainting
from agent.inventory.names import gpu_name
from agent.publishing.forms import Found
from agent.publishing.health.kept import KeptHealth
from agent.publishing.loop import Agent
from agent.publishing.publication import Publication
from daemon.logs import level
from daemon.metrics.registry import release
from daemon.status.last_errors import LastErrors
from daemon.status.page import Row, Status, Table, duration

KNOWN: Final = (
    "devices, what is withheld or tainted and why, causes of ill health, slices, calls that hang, "
    "what waits, the last errors"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """What one agent knows.

    Shape: ``hung`` returns the calls into the driver that hang, each with its age in seconds; ``kept`` what
           is known of the health of devices.
    Units: ``clock`` seconds, ``began_at`` seconds of it, ``wall`` seconds since 1970.
    """

    agent: Agent
    publications: Sequence[Publication]
    node: str
    driver: str
    errors: LastErrors
    clock: Callable[[], float]
    began_at: float
    hung: Callable[[], Iterable[tuple[str, float]]]
    wall: Callable[[], float]
    kept: KeptHealth

    def status(self) -> Status:
        """Return what is known now."""
        found, allocator = self.agent.found, self.agent.allocator
        state, rules = self.kept.state, self.kept.rules
        health = {} if found is None else judged(found.devices, found.instances, state, rules)
        facts = {
            "program": "agent",
            "version": release(),
            "node": self.node,
            "driver": self.driver,
            "running_for": duration(self.clock() - self.began_at),
            "log_level": level(),
            "ready": self.agent.is_ready,
            "allocator": "not known yet" if allocator is None else allocator or "kube-scheduler",
        }
        return Status(
            facts,
            (
                Table("devices", ("COUNT", "STATE", "KIND"), _devices(found, health), _device_cells),
                Table("slices", ("SLICES", "DEVICES", "KIND"), list(self._slices()), _slice_cells),
                Table("withheld", ("KIND", "DEVICE"), list(_withheld(found)), _withheld_cells),
                Table("health", ("STATE", "DEVICE"), list(_health(found)), _health_cells),
                causes_table(health, rules, self.wall()),
                Table("calls", ("AGE", "CALL"), list(self._calls()), _call_cells),
                Table("waiting", ("WHAT",), list(self._waiting()), lambda row: (row["what"],)),
                self.errors.table(),
            ),
        )

    def _slices(self) -> Iterator[Row]:
        for publication in self.publications:
            stored = publication.store.documents()
            devices = sum(len(one["spec"].get("devices") or ()) for one in stored)
            yield {"kind": publication.store.kind, "slices": len(stored), "devices": devices}

    def _calls(self) -> Iterator[Row]:
        for what, age_s in self.hung():
            yield {"call": what, "age_seconds": round(age_s, 1), "hangs": True}

    def _waiting(self) -> Iterator[Row]:
        if self.agent.found is None:
            yield {"what": "the devices of this node were not read yet"}
        for publication in self.publications:
            kind, due_s = publication.store.kind, publication.due - self.clock()
            if not isinf(due_s):
                what = (
                    "are written next" if publication.is_done else "were not all stored yet; the next try is"
                )
                yield {"what": f"{kind}s {what} in {duration(due_s)}"}
            for why in publication.told:
                yield {"what": why}


def _devices(found: Found | None, health: Findings) -> list[Row]:
    """Return how many devices there are, by kind and state."""
    if found is None:
        return []
    devices, tainted = found.devices, {*found.in_the_way.devices, *tainting(health)}
    states = Counter(
        (
            kind,
            "unreadable" if name in devices.remembered else "tainted" if name in tainted else "offered",
        )
        for name, kind in devices.kinds.items()
    )
    states.update((one.kind, "withheld") for one in devices.withheld)
    states.update([("gpu", "not in the driver")] * len(devices.unlisted))
    counted = sorted((key, count) for key, count in states.items() if count)
    return [{"kind": kind, "state": state, "count": count} for (kind, state), count in counted]


def _withheld(found: Found | None) -> Iterator[Row]:
    for one in () if found is None else found.devices.withheld:
        yield {"device": one.device, "kind": one.kind, "why": str(one.reason)}


def _health(found: Found | None) -> Iterator[Row]:
    """Yield the devices that no claim can have for now, each with the reason."""
    if found is None:
        return
    for name in sorted(found.devices.remembered):
        yield _ill(
            name, "unreadable", "it could not be read at the last look; it stays published with a taint"
        )
    for gpu in found.devices.unlisted:
        yield _ill(gpu_name(gpu.number), "not in the driver", str(gpu.reason))
    for foreign in found.in_the_way.instances:
        yield _ill(gpu_name(foreign.gpu.number), "foreign instance", foreign.sentence)


def _ill(device: str, state: str, why: str) -> Row:
    return {"device": str(device), "state": state, "why": why}


def _device_cells(row: Row) -> tuple[str, ...]:
    return str(row["count"]), row["state"], row["kind"]


def _slice_cells(row: Row) -> tuple[str, ...]:
    return str(row["slices"]), str(row["devices"]), row["kind"]


def _withheld_cells(row: Row) -> tuple[str, ...]:
    return row["kind"], f"{row['device']}: {row['why']}"


def _health_cells(row: Row) -> tuple[str, ...]:
    return row["state"], f"{row['device']}: {row['why']}"


def _call_cells(row: Row) -> tuple[str, ...]:
    return duration(row["age_seconds"]), row["call"]
