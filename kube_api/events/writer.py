"""Writes Events about objects to the cluster, without making its caller wait.

Events enter from any thread and are queued; one thread of this module writes them. The caller never waits and
never fails: an event that cannot be written, or comes too fast, is logged and dropped. Each namespace has a
budget and a part of the queue of its own, so that whoever causes many events in one silences no other; events
about Nodes, which lie in ``default``, do not count to it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from threading import Thread
from typing import Any, Final, Protocol

from kube_api.errors import KubeApiError
from kube_api.events.ledger import (
    CountedAgain,
    EventLedger,
    EventType,
    NewEvent,
    Occurrence,
    Regarding,
    Write,
)
from kube_api.events.waiting import Emitted, WaitingEvents
from kube_api.objects import Object
from kube_api.pacing import Budgets, Clock, TokenBucket
from kube_api.resources import EVENTS, Resource

_NAMESPACES: Final = 256
"""Budgets that are kept. A namespace whose budget was dropped starts with a full one."""
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
        """Start the thread that writes ``per_s`` events of one namespace a second, and ``burst`` at once.

        Units: ``clock`` gives seconds since 1970, as ``time.time``. Shape: ``component`` is a qualified name
               such as ``tangram.dev/agent``; ``instance`` says which instance of it, usually the node.
        """
        self._api = api
        self._clock = clock
        self._ledger = EventLedger(component, instance or component)
        self._budgets = Budgets(lambda: TokenBucket(per_s, burst, clock), _NAMESPACES)
        self._waiting = WaitingEvents()
        self._is_failing = False
        self._thread = Thread(target=self._work, name="kube-api-events", daemon=True)
        self._thread.start()

    def emit(
        self, regarding: Regarding | Object, type: EventType, reason: str, message: str, action: str
    ) -> None:
        """Queue an event about an object. Returns at once and raises nothing."""
        about = Regarding.of(regarding) if isinstance(regarding, Object) else regarding
        occurrence = Occurrence(about, type, reason, message, action)
        lost = self._waiting.put(Emitted(occurrence, self._clock()))
        if lost is not None:
            what = lost.occurrence
            _log.warning("dropped an event, the queue is full: %s %s", what.reason, what.message)

    def close(self, timeout_s: float = _CLOSE_S) -> None:
        """Write the queued events, as many as ``timeout_s`` seconds allow."""
        self._waiting.close()
        self._thread.join(timeout_s)

    def _work(self) -> None:
        is_over = False
        while not is_over:
            emitted = self._waiting.take(_IDLE_S)
            is_over = emitted is None and self._waiting.is_over
            try:
                writes = self._unwritten() if emitted is None else self._observe(emitted)
                for write in writes:
                    self._write(write)
            except Exception:  # noqa: BLE001  the outermost loop: one bad event must not stop the others
                _log.exception("lost an event because of an unexpected error; please report this")

    def _observe(self, emitted: Emitted) -> list[Write]:
        write = self._ledger.observe(emitted.occurrence, emitted.at_s)
        return [write] if write else []

    def _unwritten(self) -> list[Write]:
        return self._ledger.unwritten(self._clock())

    def _write(self, write: Write) -> None:
        about = write.occurrence.regarding.namespace  # not where the event lies: Nodes are no tenant's
        budget = self._budgets.of(about)
        if not budget.bucket.take():
            self._ledger.forget(write.occurrence)
            level = logging.DEBUG if budget.is_spent else logging.WARNING
            text = "dropped an event of %s, too many in a short time: %s"
            _log.log(level, text, f"namespace {about}" if about else "no namespace", write.occurrence.message)
            budget.is_spent = True
            return
        budget.is_spent = False
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
