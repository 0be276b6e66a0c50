"""What a running plugin knows, for people and programs that ask: ``tangram plugin status``.

Nothing here waits for a lock or for hardware: what hangs must not keep the answer. Devices and their health
are as they were read last; claims are read from their records, which readers need no lock for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agent.health.status import causes_table
from daemon.logs import level
from daemon.metrics.registry import release
from daemon.status.last_errors import LastErrors
from daemon.status.page import Row, Status, Table, duration
from plugin.base.errors import PluginError
from plugin.base.in_flight import CallsInFlight
from plugin.claim.driver import Driver
from plugin.claim.quarantine.census import Census
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.kinds.health import Health
from scheduler_core.model.claim import ClaimUid

KNOWN: Final = (
    "devices, claims with their age, locks and who holds them, calls that hang, quarantine, what is ill and "
    "why, what waits, the last errors"
)
_QUARANTINED: Final = "quarantined"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginState:
    """What one plugin knows.

    Shape: ``store`` one of its own, so that nothing is shared with who works; ``unwritten`` says how many
           statuses of claims are to be written; ``hung`` returns what hangs in the driver, with its age in s.
    Units: ``clock`` seconds, ``wall`` seconds since 1970, ``began_at`` seconds of ``clock``.
    """

    driver: Driver
    store: RecordStore
    calls: CallsInFlight
    errors: LastErrors
    clock: Callable[[], float]
    wall: Callable[[], float]
    began_at: float
    unwritten: Callable[[], int] = int
    hung: Callable[[], Iterable[tuple[str, float]]] = tuple

    def status(self) -> Status:
        """Return what is known now."""
        facts = {
            "program": "plugin",
            "version": release(),
            "node": self.driver.node_name,
            "driver": self.driver.name,
            "running_for": duration(self.clock() - self.began_at),
            "log_level": level(),
        }
        health = self.driver.health
        try:
            census = self.store.census()
        except PluginError as error:
            census = Census(records=(), quarantined=(), unfinished=())
            facts["claims_unknown"] = str(error)
        return Status(
            facts,
            (
                Table("devices", ("COUNT", "STATE", "KIND"), self._devices(census), _device_cells),
                Table("claims", ("STATE", "AGE", "CLAIM"), list(self._claims(census)), _claim_cells),
                Table("locks", ("STATE", "AGE", "LOCK"), list(self._locks()), _lock_cells),
                Table("calls", ("HANGS", "AGE", "CALL"), list(self._calls()), _call_cells),
                Table("quarantine", ("CLAIM",), list(_quarantine(census)), _quarantine_cells),
                Table("health", ("HEALTH", "DEVICE"), list(self._health()), _health_cells),
                causes_table(health.last_findings, health.rules, self.wall()),
                Table("waiting", ("WHAT",), list(self._waiting(census)), lambda row: (row["what"],)),
                self.errors.table(),
            ),
        )

    def _devices(self, census: Census) -> list[Row]:
        """Return how many devices there are, by kind and state, and how many are withheld."""
        snapshot = self.driver.seen
        if snapshot is None:
            return []
        claimed = {device.device for one in census.records for device in one.devices}
        ill = {row["device"] for row in self._health()}
        states = Counter(
            (kind, "unhealthy" if name in ill else "claimed" if name in claimed else "unclaimed")
            for name, kind in snapshot.devices.kinds.items()
        )
        states.update((one.kind, "withheld") for one in snapshot.devices.withheld)
        return [
            {"kind": kind, "state": state, "count": count} for (kind, state), count in sorted(states.items())
        ]

    def _claims(self, census: Census) -> Iterator[Row]:
        for record in census.records:
            yield {
                "namespace": record.namespace,
                "name": record.name,
                "uid": record.uid,
                "state": str(record.state),
                "age_seconds": self._age_s(record.uid),
                "devices": [device.device for device in record.devices],
            }
        for kept in census.quarantined:
            ref = kept.known.ref
            yield {
                "namespace": ref.namespace if ref else "",
                "name": ref.name if ref else "",
                "uid": kept.uid,
                "state": _QUARANTINED,
                "age_seconds": self._age_s(kept.uid),
                "devices": _devices_of(kept),
            }

    def _age_s(self, uid: ClaimUid) -> float:
        """Return for how long a claim has been in its state."""
        written_at = self.store.written_at(uid)
        return 0.0 if written_at is None else round(max(0.0, self.wall() - written_at), 1)

    def _locks(self) -> Iterator[Row]:
        for one in self.driver.known_locks():
            yield {
                "lock": one.subject,
                "purpose": one.purpose,
                "state": "held" if one.is_held else "awaited",
                "age_seconds": round(one.age_s, 1),
                "call": "" if one.call is None else str(one.call),
            }

    def _calls(self) -> Iterator[Row]:
        for call in self.calls.all():
            yield {"call": call.what, "age_seconds": round(call.age_s, 1), "hangs": call.is_hung}
        for what, age_s in self.hung():
            yield {"call": what, "age_seconds": round(age_s, 1), "hangs": True}

    def _health(self) -> Iterator[Row]:
        """Yield the devices that are not healthy, each once, with the reason."""
        missing: Mapping[str, str] = self.driver.sight.missing.by_device()
        for name, why in missing.items():
            yield {"device": name, "health": str(Health.UNHEALTHY), "message": why}
        for one in self.driver.health.last:
            if one.health is not Health.HEALTHY and one.device not in missing:
                yield {"device": one.device, "health": str(one.health), "message": one.message}

    def _waiting(self, census: Census) -> Iterator[Row]:
        for record in census.records:
            if record.state is State.UNDOING:
                yield _wait(f"claim {record.ref} ({record.uid}) is not undone to its end; it is tried again")
        for uid in sorted(self.driver.sight.in_use.copy()):
            yield _wait(f"claim {uid} is over; programs still use its GPUs, so it keeps them")
        if count := self.unwritten():
            yield _wait(f"{count} statuses of claims are to be written")


def _wait(what: str) -> Row:
    return {"what": what}


def _devices_of(kept: Quarantined) -> list[str]:
    """Return the devices that a claim in quarantine may hold, as far as they are known."""
    record = kept.record
    recorded = () if record is None else record.devices
    return sorted({*map(str, kept.told), *(one.device for one in recorded)})


def _quarantine(census: Census) -> Iterator[Row]:
    for one in census.quarantined:
        ref = one.known.ref
        yield {"claim": "" if ref is None else str(ref), "uid": one.uid, "why": one.why}


def _device_cells(row: Row) -> tuple[str, ...]:
    return str(row["count"]), row["state"], row["kind"]


def _claim_cells(row: Row) -> tuple[str, ...]:
    name = f"{row['namespace']}/{row['name']} " if row["name"] else ""
    devices = ", ".join(row["devices"]) or "no devices known"
    return row["state"], duration(row["age_seconds"]), f"{name}({row['uid']}): {devices}"


def _lock_cells(row: Row) -> tuple[str, ...]:
    call = f"; {row['call']}" if row["call"] else ""
    return row["state"], duration(row["age_seconds"]), f"{row['lock']}: {row['purpose']}{call}"


def _call_cells(row: Row) -> tuple[str, ...]:
    return "yes" if row["hangs"] else "no", duration(row["age_seconds"]), row["call"]


def _quarantine_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    name = f"{row['claim']} " if row["claim"] else ""
    return (f"{name}({row['uid']}): {row['why']}; tangram plugin release ends it",)


def _health_cells(row: Row) -> tuple[str, ...]:
    return row["health"], f"{row['device']}: {row['message']}"
