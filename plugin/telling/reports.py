"""The status of claims and events on them, written on a thread of their own, so that no call waits for them.

Takes claims that changed. A claim's status is made from its record when it is written, so the last state is
written, whatever was missed before. A claim that could not be prepared has no record: its error is kept here.
A write that fails is repeated with a growing delay of up to a minute, unless repeating it cannot help.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread
from typing import Any, Final

from daemon.backoff import Backoff
from daemon.log_fields import log_about
from plugin.base.errors import PluginError, ReportFailed
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.reconciling.claim_health import Unhealthy
from plugin.claim.record_store import RecordStore
from plugin.telling.ports import ClaimEvents, ClaimWriter
from plugin.telling.status import Failure, Missing, device_statuses, failure_statuses
from scheduler_core.model.claim import AllocatedDevice, ClaimRef, ClaimUid

_MOST: Final = 1024
_SETTLING_S: Final = 0.5
"""How long a status is not written yet: the kubelet's answer is not delayed, and a claim that is unprepared
meanwhile costs the API server no write."""
_ATTEMPTS: Final = 6  # after which the failure is logged
_BACKOFF: Final = Backoff(first=1.0, most=60.0)
_GOODBYE_S: Final = 5.0
_REASONS: Final = {"prepare": "PrepareFailed", "unprepare": "UnprepareFailed", "bring in": "BringInFailed"}
_UNBELIEVED: Final = "RecordUnusable"
_MISSING: Final = "DeviceMissing"
_IN_USE: Final = "DeviceInUse"
_UNHEALTHY: Final = "DeviceUnhealthy"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    """A claim whose status must be written. Units: ``at_s`` seconds of the clock."""

    ref: ClaimRef
    at_s: float
    attempts: int = 0


def _nothing_missing(_uid: ClaimUid) -> Mapping[str, str]:
    return {}


def _all_well(_uid: ClaimUid) -> Mapping[str, Unhealthy]:
    return {}


class Reports:
    """The ``ClaimObserver`` that writes to the API server, on a thread between ``begin`` and ``close``.

    Shape: ``missing`` says why devices of a prepared claim are not there any more, by name; ``unhealthy``
           which of them are not well.
    Units: ``clock`` counts seconds, ``wall`` seconds since 1970.
    """

    def __init__(
        self,
        store: RecordStore,
        claims: ClaimWriter,
        events: ClaimEvents,
        clock: Callable[[], float],
        wall: Callable[[], float],
        *,
        missing: Callable[[ClaimUid], Mapping[str, str]] = _nothing_missing,
        unhealthy: Callable[[ClaimUid], Mapping[str, Unhealthy]] = _all_well,
    ) -> None:
        self._store = store
        self._claims = claims
        self._events = events
        self._clock = clock
        self._wall = wall
        self._changing = Lock()
        self._due: dict[ClaimUid, _Due] = {}
        self._failures: dict[ClaimUid, Failure] = {}
        self._missing = missing
        self._unhealthy = unhealthy
        self._missing_since_s: dict[ClaimUid, float] = {}
        self._wake = Event()
        self._is_over = False
        self._thread = Thread(target=self._work, name="reports", daemon=True)

    def unwritten(self) -> int:
        """Return how many statuses are to be written. Waits for nothing."""
        return len(self._due)

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None:
        """Have the claim's status written soon."""
        with self._changing:
            self._failures.pop(uid, None)
            self._put(uid, ref)
        self._wake.set()

    def failed(
        self,
        uid: ClaimUid,
        ref: ClaimRef,
        attempted: str,
        error: PluginError,
        devices: Sequence[AllocatedDevice] = (),
    ) -> None:
        """Have an event written on the claim, and the error in the status of these devices."""
        self._events.warn(ref, uid, _REASONS[attempted], str(error))
        if not devices:
            return
        with self._changing:
            known = self._failures.pop(uid, None)
            since_s = known.since_s if known else self._wall()
            if len(self._failures) >= _MOST:
                del self._failures[next(iter(self._failures))]
            failure = self._failures[uid] = Failure(tuple(devices), str(error), since_s)
            if failure == known:  # the kubelet repeats its call: the status has the error already
                return
            self._put(uid, ref)
        self._wake.set()

    def kept(self, found: Quarantined) -> None:
        """Have an event written on a claim in quarantine; on the node where no line says the claim's name."""
        if found.known.ref is None:
            self._events.warn_of_node(_UNBELIEVED, str(found.error))
        else:
            self._events.warn(found.known.ref, found.uid, _UNBELIEVED, str(found.error))

    def missing(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        """Have an event written on the claim, and its status anew: it says which devices are missing."""
        self._events.warn(ref, uid, _MISSING, why)
        with self._changing:
            self._missing_since_s.setdefault(uid, self._wall())
            self._put(uid, ref)
        self._wake.set()

    def unhealthy(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        """Have the claim's status written anew, and an event on it where devices are not well.

        Shape: ``why`` is empty where all of them are well again.
        """
        if why:
            self._events.warn(ref, uid, _UNHEALTHY, why)
        with self._changing:
            self._put(uid, ref)
        self._wake.set()

    def in_use(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        """Have an event written on a claim that is over and stays."""
        self._events.warn(ref, uid, _IN_USE, why)

    def all_again(self) -> None:
        """Have the status of every claim with a record written: an earlier process may not have done it."""
        for record in self._store.census().records:
            self.changed(record.uid, record.ref)

    def deliver(self, *, is_last: bool = False) -> float | None:
        """Write each status that is due; return the seconds until the next one is, None where there is none.

        Shape: ``is_last`` writes also what is not due yet, unless a write of it has failed before.
        """
        now = self._clock()
        with self._changing:
            ready = {
                uid: due
                for uid, due in self._due.items()
                if due.at_s <= now or (is_last and not due.attempts)
            }
            for uid in ready:
                del self._due[uid]
        for uid, due in ready.items():
            self._write(uid, due)
        with self._changing:
            waits = [due.at_s - self._clock() for due in self._due.values()]
        return max(min(waits), 0.0) if waits else None

    def begin(self) -> None:
        """Start the thread that writes."""
        self._thread.start()

    def close(self) -> None:
        """Write a last time what can be written within a few seconds, and end the thread."""
        self._is_over = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(_GOODBYE_S)

    def _work(self) -> None:
        while not self._is_over:
            wait_s = self.deliver()
            self._wake.wait(wait_s)
            self._wake.clear()
        self.deliver(is_last=True)

    def _put(self, uid: ClaimUid, ref: ClaimRef) -> None:
        self._due.pop(uid, None)
        if len(self._due) >= _MOST:
            oldest = next(iter(self._due))
            _log.warning("claim %s: its status is not written, too many wait", self._due.pop(oldest).ref)
            self._failures.pop(oldest, None)
        self._due[uid] = _Due(ref, self._clock() + _SETTLING_S)

    def _statuses(self, uid: ClaimUid) -> tuple[dict[str, Any], ...]:
        why = self._missing(uid)
        with self._changing:
            failure = self._failures.get(uid)
            if not why:
                self._missing_since_s.pop(uid, None)
            since_s = self._missing_since_s.get(uid, self._wall())
        if failure:
            return failure_statuses(failure)
        return device_statuses(*self._store.peek(uid), Missing(why, since_s), self._unhealthy(uid))

    def _write(self, uid: ClaimUid, due: _Due) -> None:
        with log_about(namespace=due.ref.namespace, claim=due.ref.name, uid=uid):
            self._try_to_write(uid, due)

    def _try_to_write(self, uid: ClaimUid, due: _Due) -> None:
        try:
            self._claims.set_devices(due.ref, uid, self._statuses(uid))
        except ReportFailed as error:
            self._again(uid, due, error)
        except PluginError as error:
            _log.warning("claim %s: its status is not written: %s", due.ref, error)
        except Exception:  # noqa: BLE001 - the outermost loop: the other claims must be reported
            _log.exception("claim %s: its status is not written", due.ref)

    def _again(self, uid: ClaimUid, due: _Due, error: ReportFailed) -> None:
        attempts = due.attempts + 1
        if not error.retry or attempts == _ATTEMPTS:
            _log.warning("%s", error)
        if not error.retry:  # another attempt would fail in the same way
            return
        delay_s = replace(_BACKOFF, failures=attempts).wait()
        later = _Due(due.ref, self._clock() + delay_s, attempts)
        with self._changing:
            self._due.setdefault(uid, later)
