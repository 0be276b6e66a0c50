"""The agent's main loop: discovers devices, keeps every kind of slice published, reacts to changes.

One thread decides; the threads that watch and listen only send it messages. The loop ends only when ``stop``
is called. The slices stay in place, because running pods do not need the agent.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from queue import Empty, SimpleQueue
from typing import Final

from agent.hardware.errors import HardwareError, nvml_code
from agent.publishing.forms import Found
from agent.publishing.metrics import Metrics
from agent.publishing.ports import GpusOfPools, Interrupted, MachineEvents, OwnNode, WatchMessage
from agent.publishing.publication import Clocks, Publication
from agent.publishing.watching import follow, listen
from daemon.backoff import Backoff, Throttle

_log = logging.getLogger("agent.publishing")
_TURN_S: Final = 10.0  # the longest sleep, so that the health probe sees the loop turn
_DISCOVERIES: Final = Throttle(first=0.5, most=10.0, calm=30.0)
_REPEAT_DISCOVERY_S: Final = 5.0
_SETTLING_S: Final = 0.15  # after a change of health: what comes in one moment is one write
_FIRST_LOOK_AGAIN_S: Final = 1.0  # after one that could not read everything; then ever later
_DISCOVERY_BACKOFF: Final = Backoff(first=1.0, most=60.0)  # after an unexpected error


@dataclass(frozen=True, slots=True)
class MachineChanged:
    """Something happened on the machine."""

    what: str


@dataclass(frozen=True, slots=True)
class SlicesChanged:
    """The stored objects of a kind may have changed."""

    publication: Publication


@dataclass(frozen=True, slots=True)
class NodeChanged:
    """The Node may say something else about who allocates its devices."""


@dataclass(frozen=True, slots=True)
class PoolsChanged:
    """Other GPUs of the node may belong to pools of several nodes."""


@dataclass(frozen=True, slots=True)
class HealthChanged:
    """Something else may be wrong with devices."""


@dataclass(frozen=True, slots=True)
class WatchBroken:
    """A watch broke; the server may have restarted. Units: ``retry_in_s`` seconds."""

    publication: Publication
    retry_in_s: float


@dataclass(frozen=True, slots=True)
class Stop:
    """The loop shall end."""


Message = MachineChanged | SlicesChanged | NodeChanged | PoolsChanged | HealthChanged | WatchBroken | Stop


class Agent:
    """Publishes one node.

    Shape: ``hear`` is called with what each discovery found. Nothing is published before ``node`` has said
           who allocates the devices: a start must not take the mark off devices that the controller owns.
           Nothing is discovered before it is known which GPUs belong to ``gpus_of_pools``: a start must not
           offer these. ``judge`` adds to a discovery what is wrong with its devices; ``threads`` are started
           after the first discovery, each with the event that ends it.
    Units: ``resync_s`` seconds between discoveries without an event, where everything could be read.
    """

    def __init__(
        self,
        *,
        discover: Callable[[], Found],
        publications: Sequence[Publication],
        node: OwnNode,
        gpus_of_pools: GpusOfPools,
        machine_events: Sequence[MachineEvents],
        metrics: Metrics,
        clocks: Clocks,
        resync_s: float,
        hear: Callable[[Found], None] = lambda _: None,
        judge: Callable[[Found], Found] = lambda found: found,
        threads: Sequence[Callable[[threading.Event], None]] = (),
    ) -> None:
        self._discover = discover
        self._publications = tuple(publications)
        self._node = node
        self._gpus_of_pools = gpus_of_pools
        self._machine_events = tuple(machine_events)
        self._metrics = metrics
        self._clocks = clocks
        self._resync_s = resync_s
        self._hear_found = hear
        self._judge = judge
        self._threads = tuple(threads)
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        self._ended = threading.Event()
        self._found: Found | None = None
        self._wanted: Found | None = None
        self._pools: Mapping[int, str] | None = None
        self._left_out: tuple[str, ...] = ()
        self._discoveries = _DISCOVERIES
        self._discovery_due = 0.0
        self._discovery_backoff = _DISCOVERY_BACKOFF
        self._looks_again = Backoff(first=_FIRST_LOOK_AGAIN_S, most=resync_s)
        self._surprise = ""
        self._well_at = clocks.monotonic()

    def stop(self) -> None:
        """End ``run`` soon. May be called from a signal handler."""
        self._inbox.put(Stop())

    def health_changed(self) -> None:
        """Judge the devices anew soon. May be called from any thread."""
        self._inbox.put(HealthChanged())

    @property
    def is_ready(self) -> bool:
        """Whether everything was published once."""
        return self._publications[0].is_done

    @property
    def found(self) -> Found | None:
        """Return what was found last, None before. It is never changed, only replaced."""
        return self._found

    @property
    def allocator(self) -> str | None:
        """Return who allocates the devices, as the Node says it; None before it is known."""
        return self._node.allocator

    def idle_s(self) -> float:
        """Return how many seconds ago the loop last made a turn without an unexpected error."""
        return self._clocks.monotonic() - self._well_at

    def run(self) -> None:
        """Publish until ``stop`` is called."""
        for publication in self._publications:
            self._start(partial(self._follow, publication))
        self._start(self._follow_node)
        self._start(self._follow_pools)
        is_running = True
        while is_running:
            now = self._clocks.monotonic()
            if not self._surprise and not self._publications[0].is_surprised:
                self._well_at = now
            self._turn(now)
            if self._found and (self._machine_events or self._threads):
                self._listen()  # after the first discovery: the libraries for it load slowly
            is_running = self._hear_all()
        self._ended.set()

    def _turn(self, now: float) -> None:
        if now >= self._discovery_due and self._gpus_of_pools.pools is not None:
            try:
                self._read_machine(now)
            except Exception as error:  # noqa: BLE001 - the outermost loop: an error must not end the agent
                self._surprised(error, now)
        for publication in self._publications:
            if self._wanted and now >= publication.due:
                try:
                    publication.attempt(self._wanted, now)
                except Exception as error:  # noqa: BLE001 - the other kinds must still be published
                    publication.surprised(error, now)

    def _surprised(self, error: Exception, now: float) -> None:
        text = f"{type(error).__name__}: {error}"
        if text != self._surprise:
            _log.error(
                "unexpected error during discovery; published slices are kept, retrying; please report this",
                exc_info=error,
            )
        self._surprise = text
        self._metrics.count("discovery_failures_total")
        self._metrics.count("unforeseen_failures_total", of="discovery")
        self._discovery_backoff = self._discovery_backoff.failed()
        self._discovery_due = now + self._discovery_backoff.wait(self._clocks.spread())

    def _read_machine(self, now: float) -> None:
        self._discoveries = self._discoveries.taken(now)
        self._pools = self._gpus_of_pools.pools
        try:
            found = self._discover()
        except HardwareError as error:
            _log.warning("discovery failed; published slices are kept, retrying: %s", error)
            self._metrics.count("discovery_failures_total")
            self._metrics.count(
                "errors_total", of="discovery", error=type(error).__name__, nvml=nvml_code(str(error))
            )
            self._discovery_due = now + _REPEAT_DISCOVERY_S
            return
        self._metrics.count("discoveries_total")
        self._log_left_out(found)
        self._hear_found(found)
        is_new = found != self._found
        self._found, self._surprise, self._discovery_backoff = found, "", _DISCOVERY_BACKOFF
        self._discovery_due = now + self._next_look_s(found)
        for publication in self._publications:
            if not publication.source.is_full:
                publication.source.doubt()
        self._want(now, is_new=is_new)

    def _next_look_s(self, found: Found) -> float:
        """Return when to look again without an event: soon while something cannot be read."""
        if found.is_whole:
            self._looks_again = replace(self._looks_again, failures=0)
            return self._resync_s
        self._looks_again = self._looks_again.failed()
        return self._looks_again.wait(self._clocks.spread())

    def _want(self, now: float, *, is_new: bool) -> None:
        """Publish what was found last for who allocates it, as soon as both are known."""
        allocator = self._node.allocator
        if self._found is None or allocator is None:
            return
        self._wanted = replace(self._judge(self._found), allocator=allocator)
        for publication in self._publications:
            publication.discovered(now, is_new=is_new)

    def _log_left_out(self, found: Found) -> None:
        for sentence in found.devices.left_out:
            if sentence not in self._left_out:
                _log.warning("not published: %s", sentence)
        self._left_out = found.devices.left_out

    def _hear_all(self) -> bool:
        """Wait for messages or the next due time and handle them; return False at the end."""
        dues = [one.due for one in self._publications if self._wanted is not None]
        if self._gpus_of_pools.pools is not None:
            dues.append(self._discovery_due)
        due = min(dues, default=inf)
        left = due - self._clocks.monotonic()
        try:
            message = self._inbox.get(timeout=min(_TURN_S, max(0.0, left)))
            while self._hear(message):
                message = self._inbox.get_nowait()
        except Empty:
            return True
        return False

    def _hear(self, message: Message) -> bool:
        now = self._clocks.monotonic()
        match message:
            case MachineChanged(what=what):
                _log.debug("the machine changed: %s", what)
                self._discovery_due = min(self._discovery_due, self._discoveries.due(now))
            case SlicesChanged(publication=publication):
                if publication.is_done:
                    publication.disturbed(now)
                else:
                    publication.want(now)
            case PoolsChanged():
                if self._gpus_of_pools.pools != self._pools:
                    self._discovery_due = min(self._discovery_due, self._discoveries.due(now))
            case NodeChanged():
                self._want(now, is_new=True)
            case HealthChanged():
                self._want(now + _SETTLING_S, is_new=True)
            case WatchBroken(publication=publication, retry_in_s=retry_in_s):
                publication.doubt()
                publication.want(now + retry_in_s)
            case Stop():
                return False
        return True

    def _follow(self, publication: Publication) -> None:
        def hear(message: WatchMessage) -> None:
            if isinstance(message, Interrupted):
                self._inbox.put(WatchBroken(publication, message.retry_in_s))
            elif message.is_new:
                self._inbox.put(SlicesChanged(publication))

        follow(
            publication.store,
            hear,
            self._metrics,
            ended=self._ended,
            slow_s=self._resync_s,
        )

    def _follow_node(self) -> None:
        def hear(message: WatchMessage) -> None:
            if not isinstance(message, Interrupted) and message.is_new:
                self._inbox.put(NodeChanged())

        follow(self._node, hear, self._metrics, ended=self._ended, slow_s=self._resync_s)

    def _follow_pools(self) -> None:
        def hear(message: WatchMessage) -> None:
            if not isinstance(message, Interrupted) and message.is_new:
                self._inbox.put(PoolsChanged())

        follow(self._gpus_of_pools, hear, self._metrics, ended=self._ended, slow_s=self._resync_s)

    def _listen(self) -> None:
        for machine_events in self._machine_events:
            self._start(partial(listen, machine_events, self._heard, self._ended, self._resync_s))
        self._machine_events = ()
        for work in self._threads:
            self._start(partial(work, self._ended))
        self._threads = ()

    def _heard(self, what: str) -> None:
        self._metrics.count("machine_events_total")
        self._inbox.put(MachineChanged(what))

    def _start(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, daemon=True).start()
