"""The controller's loop: one thread keeps what is known and decides, several write.

Threads that watch and threads that write only send messages. The loop ends only when ``stop`` is called.
Allocations stay: running pods do not need the controller.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import thread_time
from typing import Any, Final, Protocol

from controller.classes.turns import StatusWrite
from controller.model.slices import SliceSeen, key_of
from controller.plan.log_fields import of_plan
from controller.plan.plans import GroupPlacement, Placement, Release, Tell, about
from controller.run.classes import ResourceClasses
from controller.run.coordinator import Coordinator
from controller.run.messages import Changed, Message, Refresh, Refreshed, Stop, Written, fields_of, named
from controller.run.ports import Why
from controller.run.report import Report, Times
from controller.run.values import Decided
from controller.run.writer import Writer
from controller.run.writers import Writers
from daemon.log_fields import fields, log_about
from scheduler_core.model.claim import ClaimRef, DeviceClass

_log = logging.getLogger("controller")
_TICK_S: Final = 1.0  # the longest sleep
_DECISIONS: Final = 20  # between two looks at the messages
_RESTS: Final = 4.0  # pods that did not fit are tried a fifth of the time at most
_REST_S: Final = 5.0
_NAMED: Final = 5  # slices in one line of the log


class Watched(Protocol):
    """Objects of one kind, kept by a watch."""

    @property
    def kind(self) -> str:
        """Return the kind."""
        ...

    @property
    def is_synced(self) -> bool:
        """Whether all objects were listed once."""
        ...

    def subscribe(self, hear: Callable[[str, str, Any, Any], None]) -> None:
        """Call ``hear`` with namespace, name, old and new value of every change."""
        ...

    def follow(self, stop: Event) -> Any:
        """Keep up to date until ``stop`` is set; yield what went wrong, empty for an event."""
        ...


class Loop:
    """Runs one coordinator.

    Shape: ``is_leading`` says whether this replica decides.
    Units: ``clock`` in seconds, monotonic.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        watched: tuple[Watched, ...],
        writer: Writer,
        *,
        is_leading: Callable[[], bool],
        clock: Callable[[], float],
        report: Report,
        classes: ResourceClasses,
    ) -> None:
        self.coordinator = coordinator
        self.watched = watched
        self._is_leading = is_leading
        self._clock = clock
        self._report = report
        self._classes = classes
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        self._is_fresh = False
        self._is_refreshing = False
        self._ended = Event()
        self._surprises = report.surprises(clock)
        self._writers = Writers(writer, self._inbox.put, self._surprises, self._ended, clock)
        self._wake_at = 0.0
        self._woken_at: float | None = None
        self._tick_at = 0.0
        self._tellings = 0
        self._releasing: set[ClaimRef] = set()

    @property
    def is_ready(self) -> bool:
        """Whether everything was listed once."""
        return all(one.is_synced for one in self.watched)

    def idle_s(self) -> float:
        """Return how many seconds ago the loop last made a turn without an unexpected error."""
        return self._surprises.unwell_s()

    def wake(self) -> None:
        """Look again whether this replica leads. May be called by any thread."""
        self._inbox.put(None)

    def stop(self) -> None:
        """End ``run`` soon. May be called from a signal handler."""
        self._inbox.put(Stop())

    def run(self) -> None:
        """Decide until ``stop`` is called. Writes under way are finished."""
        self._writers.start()
        for one in self.watched:
            self._listen(one)
            Thread(target=self._follow, args=(one,), name=f"watch-{one.kind}", daemon=True).start()
        while self._turn():
            pass
        self._ended.set()
        self._writers.join()

    def _turn(self) -> bool:
        """Take in the messages that wait, then decide; return False at the end."""
        messages = self._messages(may_wait=not self._has_more())
        slices: list[SliceSeen] = []
        for message in messages:
            match message:
                case Stop():
                    return False
                case Changed(new=SliceSeen() as found):
                    slices.append(found)
                    continue
                case _:
                    slices = self._enter(slices)
            try:
                self._hear(message)
            except Exception as error:  # noqa: BLE001 - one change must not end the controller
                with log_about(**fields_of(message)):
                    self._surprises.met(error, "change", named(message))
        self._enter(slices)
        return True

    def _has_more(self) -> bool:
        """Decide about some pods, unless that failed just now; return whether there may be more to do now."""
        if self._surprises.is_pausing:
            return False
        try:
            has_more = self._decides()
        except Exception as error:  # noqa: BLE001 - the outermost loop: an error must not end the controller
            self._surprises.stopped(error)
            return False
        self._surprises.went_well()
        return has_more

    def _hear(self, message: Message) -> None:
        if isinstance(message, Changed):
            self._take(message)
        elif isinstance(message, Written):
            self._written(message)
        elif isinstance(message, Refreshed):
            self._is_refreshing, self._is_fresh = False, self._is_leading()

    def _messages(self, *, may_wait: bool) -> list[Message]:
        """Return the messages that have come; where there is nothing to do, wait for one."""
        found: list[Message] = []
        try:
            if may_wait:
                found.append(self._inbox.get(timeout=self._wait_s()))
            while True:
                found.append(self._inbox.get_nowait())
        except Empty:
            return found

    def _decides(self) -> bool:
        """Decide about some pods; return whether there may be more to do now."""
        coordinator, now = self.coordinator, self._clock()
        if not (self.is_ready and self._leads()):
            if now >= self._tick_at:
                self._tick_at = now + _TICK_S
                coordinator.standing.now = now
                coordinator.settle()
                self._report.state(coordinator, is_leading=False)
            return False
        if coordinator.is_woken and now >= self._wake_at:
            coordinator.wake()
            self._woken_at = now
        coordinator.standing.now = now
        if now >= self._tick_at:
            self._tick_at = now + _TICK_S
            coordinator.tick()
            self._report.state(coordinator, is_leading=True)
        self._hand_out()
        for _ in range(_DECISIONS):
            began, began_running = self._clock(), thread_time()
            decided = self._decision()
            if decided is None:
                self._rest()
                return self._tell()
            uid = decided.decisions[0].question.pod.uid
            waited_s = began - coordinator.standing.since.get(uid, began)
            times = Times(self._clock() - began, thread_time() - began_running, waited_s)
            self._report.decided(decided, times)
            if decided.plan is not None:
                self._writers.put(decided.plan)
        return True

    def _decision(self) -> Decided | None:
        """Decide about the next pod about which that can be done."""
        while True:
            try:
                return self.coordinator.decide()
            except Exception as error:
                entry = self.coordinator.standing.line.next()
                if entry is None:
                    raise
                self._surprises.met(error, "decision", f"pod or group {entry.uid}")
                self.coordinator.failed(entry, error)

    def _leads(self) -> bool:
        """Whether this replica leads, and has read since then what the one before it wrote."""
        if not self._is_leading():
            self._is_fresh = False
            return False
        if not self._is_fresh and not self._is_refreshing:
            self._is_refreshing = True
            self._writers.put(Refresh())
        return self._is_fresh

    def _hand_out(self) -> None:
        """Hand the plans out that do not come from decisions; one release of a claim at a time."""
        plans, self.coordinator.standing.plans = self.coordinator.standing.plans, []
        for plan in plans:
            if isinstance(plan, Release):
                if plan.claim in self._releasing:
                    continue
                self._releasing.add(plan.claim)
            self._writers.put(plan)

    def _tell(self) -> bool:
        """Tell pods why they wait; return whether there is more to find out."""
        for write in self._classes.due():
            self._writers.put(write)
        for plan in self.coordinator.tells() if self._tellings == 0 else ():
            self._tellings += 1
            self._writers.put(plan)
        try:
            return self.coordinator.explain()
        except Exception as error:  # noqa: BLE001 - the others still get their reasons
            self._surprises.met(error, "reason", "the reason why a pod waits")
            return True

    def _rest(self) -> None:
        """Let pods that did not fit rest for longer than it took to try them all."""
        if self._woken_at is not None:
            now = self._clock()
            self._wake_at = now + min(_REST_S, _RESTS * (now - self._woken_at))
            self._woken_at = None

    def _wait_s(self) -> float:
        """Return how long to wait for a message: until the next tick, or until pods may be tried again."""
        if not self.coordinator.is_woken or not self._is_fresh:
            return _TICK_S
        return max(0.0, min(_TICK_S, self._wake_at - self._clock()))

    def _enter(self, slices: list[SliceSeen]) -> list[SliceSeen]:
        if not slices:
            return []
        try:
            self.coordinator.slices_changed([], slices)
        except Exception as error:  # noqa: BLE001 - slices must not end the controller
            names = ", ".join(one.name for one in slices[:_NAMED])
            self._surprises.met(error, "change", f"slices {names}")
        return []

    def _take(self, one: Changed) -> None:
        coordinator, ref = self.coordinator, ClaimRef(one.namespace, one.name)
        match one.kind:
            case "Pod":
                coordinator.pod_changed(one.old, one.new)
            case "Node":
                coordinator.node_changed(one.name, one.new)
            case "ResourceClaim":
                coordinator.claim_changed(one.old, one.new)
                if self._is_fresh:
                    self._report.claim_changed(one.old, one.new)
            case "ResourceSlice" | "CompositeResourceSlice":
                coordinator.slices_changed([key_of(one.kind, one.name)], [])
            case "ResourceClaimTemplate":
                coordinator.template_changed(ref, one.new)
            case "PodGroup":
                coordinator.group_changed(one.old, one.new)
            case "ResourceClass":
                coordinator.take(self._classes.changed(one.name, one.new))
            case "DeviceClass":
                self._take_class(one)
            case _:
                raise AssertionError(f"nobody handles {one.kind}")

    def _take_class(self, one: Changed) -> None:
        seen = self.coordinator.seen
        if isinstance(one.new, DeviceClass):
            self.coordinator.take(seen.set_class(one.new))
            return
        if one.new is not None:
            _log.warning("claims of this class are not served: %s", one.new)
        self.coordinator.take(seen.remove_class(one.name))

    def _written(self, written: Written) -> None:
        plan, outcome = written.plan, written.outcome
        self._report.written(plan, outcome, written.took_s)
        if outcome.failure is not None:
            level = logging.INFO if outcome.failure is Why.OUTDATED else logging.WARNING
            text, told = "%s was not written (%s): %s", fields(**of_plan(plan))
            _log.log(level, text, about(plan), outcome.failure, outcome.text, extra=told)
        if isinstance(plan, Placement | GroupPlacement):
            self.coordinator.done(plan, outcome)
        elif isinstance(plan, Release):
            self._releasing.discard(plan.claim)
        elif isinstance(plan, Tell):
            self._tellings -= 1
            if outcome.failure is Why.UNKNOWN:
                self.coordinator.untold(plan)
        elif isinstance(plan, StatusWrite):
            self._classes.ended(plan, outcome)

    def _listen(self, watched: Watched) -> None:
        kind = watched.kind
        watched.subscribe(lambda *change: self._inbox.put(Changed(kind, *change)))

    def _follow(self, watched: Watched) -> None:
        was_synced = False
        for problem in watched.follow(self._ended):
            self._report.heard(watched.kind, problem)
            if problem:
                _log.warning("%s", problem)
            elif watched.is_synced and not was_synced:
                was_synced = True
                self._inbox.put(None)  # it may be the last kind that was not listed yet
