"""Keeps one kind of slice published: decides when to write and when to try again.

Takes the result of a discovery and the time; writes go out through the publisher. Each failure is logged
once, counted and retried; no failure ends the agent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from agent.publishing.errors import NameTaken, NoNode, NotThere, Outdated, Refused, ServerError
from agent.publishing.forms import Found, NotTaken, Taken
from agent.publishing.measured import devices_by_state, size_of, taints
from agent.publishing.metrics import Metrics
from agent.publishing.ports import Nodes, SliceStore
from agent.publishing.publisher import FieldsDropped, NotAllWritten, Publisher
from agent.publishing.refusals import Refusals
from agent.publishing.sources import Source
from daemon.backoff import Backoff, Throttle
from scheduler_core.base.errors import CannotProject
from scheduler_core.publishing.documents import Document

_log = logging.getLogger("agent.publishing")
_HOPELESS_S: Final = 60.0  # between retries of failures that only people can fix
_LOST_S: Final = 300.0  # between retries where the server drops the same fields again
_USUAL_RACES: Final = 3  # usually the watch catches up; more conflicts in a row mean a taken name
_V1: Final = "ResourceSlice"
_THROTTLE: Final = Throttle(first=0.2, most=30.0, calm=60.0)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Clocks and randomness. Units: ``monotonic`` and ``wall`` seconds; ``spread`` 0..1."""

    monotonic: Callable[[], float]
    wall: Callable[[], float]
    spread: Callable[[], float]


class Owner:
    """The Node object that owns the slices: they are deleted with it."""

    def __init__(self, nodes: Nodes, name: str) -> None:
        self._nodes = nodes
        self._name = name
        self._uid = ""

    @property
    def is_known(self) -> bool:
        """Whether the node has been read."""
        return bool(self._uid)

    def refresh(self) -> None:
        """Read the node again: another one may have its name by now. Raises: NoNode; ServerError."""
        try:
            self._uid = self._nodes.uid(self._name)
        except NotThere as error:
            remedy = "its kubelet must register it, or --node-name must name another"
            raise NoNode(f"there is no Node {self._name}, which must own the slices; {remedy}") from error

    def owning(self, slices: Sequence[Document]) -> tuple[Document, ...]:
        """Return the slices with their owner."""
        node = {"apiVersion": "v1", "kind": "Node", "name": self._name, "uid": self._uid}
        owners = [{**node, "controller": True}]
        return tuple({**one, "metadata": {**one["metadata"], "ownerReferences": owners}} for one in slices)


class Publication:
    """Keeps the stored objects of one kind as their source wants them. For one thread.

    Shape: ``due`` is when to try next, infinite while nothing is to do; ``is_done`` whether all wanted
           slices were stored once; ``is_surprised`` whether the last attempt ended in an unexpected error.
           ``hear`` is called with the allocator and the stored slices once these are as they are wanted,
           ``hear_taken`` with each name that somebody else has; nothing is done until that slice is stored.
    """

    def __init__(
        self,
        store: SliceStore,
        source: Source,
        owner: Owner,
        metrics: Metrics,
        clocks: Clocks,
        *,
        hear: Callable[[str, Sequence[Document]], None] = lambda _, __: None,
        hear_taken: Callable[[NameTaken], None] = lambda _: None,
    ) -> None:
        self.store = store
        self.source = source
        self.due = inf
        self.is_done = False
        self.is_surprised = False
        self._publisher = Publisher(store, metrics, self._taken)
        self._refusals = Refusals(store.kind, metrics)
        self._owner = owner
        self._metrics = metrics
        self._clocks = clocks
        self._hear = hear
        self._hear_taken = hear_taken
        self._throttle = _THROTTLE
        self._backoff = Backoff()
        self._told: frozenset[str] = frozenset()
        self._is_adopted = False
        self._measured: Sequence[Document] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """Return what failed at the last attempt, empty where nothing did. Any thread may ask."""
        return tuple(sorted(self._told))

    def want(self, now: float) -> None:
        """Try soon: the wanted slices may have changed."""
        self.due = min(self.due, now)

    def discovered(self, now: float, *, is_new: bool) -> None:
        """Note a discovery; if it found nothing new, a wait after a failure goes on."""
        if is_new or not self._backoff.failures:
            self.want(now)

    def doubt(self) -> None:
        """Ask the server again what it accepts: it may have restarted as another one."""
        self.source.doubt()
        self._refusals.forget()

    def disturbed(self, now: float) -> None:
        """Try as soon as the throttle allows: the stored slices have changed."""
        self.due = min(self.due, self._throttle.due(now))

    def attempt(self, found: Found, now: float) -> None:
        """Write what is missing and say when to try again."""
        if not self.store.is_listed:
            self.due = inf  # the watch's first list makes us due
            return
        try:
            self._write(found, now)
        except FieldsDropped as error:
            self._metrics.count("failures_total", kind=self.store.kind)
            self._wait(now, least_s=0.0 if self.source.lost(error.fields) else _LOST_S)
        except NotAllWritten as error:
            if error.is_complete:
                self._stored(found)
            self._not_all_written(error, now)
        except (ServerError, CannotProject) as error:
            self._failed((error,), now)
        else:
            self._stored(found)
            self.due, self._backoff, self._told = inf, Backoff(), frozenset()
        self.is_surprised = False

    def surprised(self, error: Exception, now: float) -> None:
        """Note that an attempt ended in an unexpected error, and set when to try again."""
        text = f"{type(error).__name__}: {error}"
        if text not in self._told:
            _log.error(
                "unexpected error while publishing %ss; it is retried, please report this",
                self.store.kind,
                exc_info=error,
            )
        self._told, self.is_surprised = frozenset({text}), True
        self._metrics.count("failures_total", kind=self.store.kind)
        self._metrics.count("unforeseen_failures_total", of=self.store.kind)
        self._wait(now)

    def _write(self, found: Found, now: float) -> None:
        if not self._is_adopted:
            self.source.adopt(self.store.documents())
            self._is_adopted = True
        wanted = self.source.wanted(found, self._ask)
        self._refusals.settle(wanted)
        slices = self._refusals.without(wanted)
        if not self._owner.is_known or self._publisher.pending(self._owner.owning(slices)):
            self._owner.refresh()
            self._throttle = self._throttle.taken(now)
            with self._metrics.timed("publishing_seconds", self._clocks.monotonic, kind=self.store.kind):
                self._publisher.publish(self._owner.owning(slices))

    def _taken(self, error: NameTaken) -> None:
        self.is_done = False
        self._hear_taken(error)

    def _ask(self, slices: Sequence[Document]) -> Taken | NotTaken:
        """Ask whether the server accepts these slices, apart from entries that it refuses for themselves."""
        while True:
            answer = self._publisher.ask(self._refusals.without(slices))
            if not isinstance(answer, NotTaken) or not self._refusals.note(answer.refused, answer.reason):
                return answer

    def _not_all_written(self, error: NotAllWritten, now: float) -> None:
        """Try again at once without what the server refuses; other failures are waited for."""
        is_new = any([self._refusals.note(entries, str(why)) for entries, why in error.refused])
        ours = {id(why) for _, why in error.refused}
        others = [one for one in error.failures if not is_new or id(one) not in ours]
        if others:
            self._failed(others, now)
        else:
            self._metrics.count("failures_total", kind=self.store.kind)
            self.due = now

    def _stored(self, found: Found) -> None:
        """Note that the server has stored all wanted slices."""
        kind, stored = self.store.kind, self.store.documents()
        devices = sum(len(one["spec"].get("devices") or ()) for one in stored)
        if stored != self._measured:
            self._measure(found, stored)
        self.is_done = True
        self._hear(found.allocator, stored)
        self._metrics.set("slices", len(stored), kind=kind)
        self._metrics.set("slice_devices", devices, kind=kind)
        self._metrics.set("left_out_devices", len(found.devices.left_out))
        self._metrics.set("last_published_timestamp_seconds", self._clocks.wall(), kind=kind)

    def _measure(self, found: Found, stored: Sequence[Document]) -> None:
        """Measure slices that have changed; v1 slices alone say what people can ask for."""
        self._measured = stored
        self._metrics.set("slice_bytes", size_of(stored), kind=self.store.kind)
        if self.store.kind == _V1:
            self._metrics.replace("devices", devices_by_state(stored, found.devices.withheld))
            self._metrics.replace("device_taints", taints(stored))

    def _failed(self, failures: Sequence[Exception], now: float) -> None:
        """Log the failures of one attempt, each sentence once, and set when to try again."""
        is_usual = self._backoff.failures < _USUAL_RACES
        unusual = [one for one in failures if not (is_usual and isinstance(one, Outdated))]
        for one in unusual:
            self._metrics.count("errors_total", of="publishing", error=type(one).__name__, nvml="")
        texts = dict.fromkeys(f"cannot publish {self.store.kind}s: {one}" for one in unusual)
        for text in texts:
            if text not in self._told:
                _log.warning("%s; it is retried", text)
        if texts:
            self._told = frozenset(texts)
            self._metrics.count("failures_total", kind=self.store.kind)
        if any(isinstance(one, Refused) for one in failures):
            self.source.doubt()
        self._wait(now, max(map(self._least_s, failures)))

    def _least_s(self, failure: Exception) -> float:
        """Return the shortest wait after a failure, in seconds."""
        match failure:
            case NotThere():
                return _HOPELESS_S if self.is_done else 1.0
            case CannotProject():
                return _HOPELESS_S
            case ServerError():
                return failure.retry_after_s or 0.0
            case _:
                return 0.0

    def _wait(self, now: float, least_s: float = 0.0) -> None:
        self._backoff = self._backoff.failed()
        self.due = now + self._backoff.wait(self._clocks.spread(), least_s)
