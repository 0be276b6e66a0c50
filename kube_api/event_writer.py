"""Writes Events about objects to the cluster, without making its caller wait.

Events enter from any thread and are queued; one thread of this module writes them. The caller never waits and
never fails: an event that cannot be written, or comes too fast, is logged and dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from queue import Empty, Full, Queue
from threading import Thread
from typing import Any, Final, Protocol

from kube_api.errors import KubeApiError
from kube_api.events import CountedAgain, EventLedger, EventType, NewEvent, Occurrence, Regarding, Write
from kube_api.objects import Object
from kube_api.pacing import Clock, TokenBucket
from kube_api.resources import EVENTS, Resource

_QUEUED: Final = 256
_BURST: Final = 25
_PER_S: Final = 0.2
_IDLE_S: Final = 10.0  # how long a count may stay unwritten after the last occurrence
_CLOSE_S: Final = 5.0
_log = logging.getLogger(__name__)


class Api(Protocol):
    """The calls that writing events needs."""

    def create(self, resource: Resource, document: Mapping[str, Any], namespace: str | None = None) -> Object:
        """Store a new object. Raises: ApiError."""
        ...

    def patch(
        self, resource: Resource, name: str, body: Mapping[str, Any], namespace: str | None = None
    ) -> Object:
        """Merge a body into an object. Raises: ApiError."""
        ...


@dataclass(frozen=True, slots=True)
class _Emitted:
    occurrence: Occurrence
    at_s: float


class EventWriter:
    """Writes the events of one program. Safe between threads; call ``close`` at the end."""

    def __init__(
        self,
        api: Api,
        component: str,
        clock: Clock,
        instance: str = "",
        *,
        per_s: float = _PER_S,
        burst: int = _BURST,
    ) -> None:
        """Start the thread that writes at most ``per_s`` events a second, and ``burst`` at once.

        Units: ``clock`` gives seconds since 1970, as ``time.time``. Shape: ``component`` is a qualified name
               such as ``tangram.dev/agent``; ``instance`` says which instance of it, usually the node.
        """
        self._api = api
        self._clock = clock
        self._ledger = EventLedger(component, instance or component)
        self._bucket = TokenBucket(per_s, burst, clock)
        self._queue: Queue[_Emitted | None] = Queue(_QUEUED)
        self._is_failing = False
        self._is_dropping = False
        self._thread = Thread(target=self._work, name="kube-api-events", daemon=True)
        self._thread.start()

    def emit(
        self, regarding: Regarding | Object, type: EventType, reason: str, message: str, action: str
    ) -> None:
        """Queue an event about an object. Returns at once and raises nothing."""
        about = Regarding.of(regarding) if isinstance(regarding, Object) else regarding
        occurrence = Occurrence(about, type, reason, message, action)
        try:
            self._queue.put_nowait(_Emitted(occurrence, self._clock()))
        except Full:
            _log.warning("dropped an event, the queue is full: %s %s", reason, message)

    def close(self, timeout_s: float = _CLOSE_S) -> None:
        """Write the queued events, as many as ``timeout_s`` seconds allow."""
        try:
            self._queue.put(None, timeout=timeout_s)
        except Full:
            return
        self._thread.join(timeout_s)

    def _work(self) -> None:
        is_over = False
        while not is_over:
            try:
                emitted = self._queue.get(timeout=_IDLE_S)
            except Empty:
                emitted = None
            else:
                is_over = emitted is None
            try:
                writes = self._unwritten() if emitted is None else self._observe(emitted)
                for write in writes:
                    self._write(write)
            except Exception:  # noqa: BLE001  the outermost loop: one bad event must not stop the others
                _log.exception("lost an event because of an unexpected error; please report this")

    def _observe(self, emitted: _Emitted) -> list[Write]:
        write = self._ledger.observe(emitted.occurrence, emitted.at_s)
        return [write] if write else []

    def _unwritten(self) -> list[Write]:
        return self._ledger.unwritten(self._clock())

    def _write(self, write: Write) -> None:
        if not self._bucket.take():
            self._ledger.forget(write.occurrence)
            level = logging.DEBUG if self._is_dropping else logging.WARNING
            _log.log(level, "dropped an event, too many in a short time: %s", write.occurrence.message)
            self._is_dropping = True
            return
        self._is_dropping = False
        try:
            self._send(write)
        except KubeApiError as problem:
            self._ledger.forget(write.occurrence)
            self._tell(problem)
        else:
            self._is_failing = False

    def _send(self, write: Write) -> None:
        match write:
            case NewEvent(namespace=namespace, document=document):
                self._api.create(EVENTS, document, namespace)
            case CountedAgain(namespace=namespace, name=name, patch=patch):
                self._api.patch(EVENTS, name, patch, namespace)

    def _tell(self, problem: KubeApiError) -> None:
        """Log the first failure of a series as a warning, the others for debugging."""
        _log.log(logging.DEBUG if self._is_failing else logging.WARNING, "lost an event: %s", problem)
        self._is_failing = True
