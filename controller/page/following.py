"""Keeps the value of the page up to date with a cluster: watches in threads, one thread that reads and tells.

It has a copy of the cluster of its own, so that nobody else in the process waits for it. It only reads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Final, NamedTuple

from controller.model.pods import Pod
from controller.model.slices import SliceSeen, key_of
from controller.page.history import History
from controller.page.model import PageModel
from controller.page.value import About, as_json
from controller.run.loop import Watched
from controller.run.messages import Changed
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.model.claim import ClaimRef, DeviceClass

_log = logging.getLogger(__name__)
_REST_S: Final = 0.5
_RESTS: Final = 4.0  # times as long as it worked: a fifth of one processor
_LONGEST_REST_S: Final = 5.0  # so that a large cluster's first reading does not hold back what comes next
_WAIT_S: Final = 1.0


class Clocks(NamedTuple):
    """Times.

    Units: seconds; ``work`` of processor time of the thread that asks, ``wall`` since 1970; ``now`` as the
           API writes it.
    """

    work: Callable[[], float]
    wall: Callable[[], float]
    now: Callable[[], str]


Tell = Callable[[dict[str, Any]], object]
"""Takes a value of the page."""


class Following:
    """Follows one cluster.

    Shape: ``title`` heads the page; ``drivers`` are those whose devices are shown, empty for all.
    """

    def __init__(
        self,
        watched: Sequence[Watched],
        driver: str,
        title: str,
        clocks: Clocks,
        drivers: Collection[str] = (),
    ) -> None:
        self._watched = watched
        self._title = title
        self._clocks = clocks
        self._seen = ClusterSeen(driver, sees_all=True)
        self._model = PageModel(self._seen, drivers)
        self._history = History()
        self._inbox: SimpleQueue[Changed | None] = SimpleQueue()
        self._problems: dict[str, str] = {}
        self._last: dict[str, Any] | None = None
        self._failure = ""

    def value(self) -> dict[str, Any]:
        """Return the value of the page as far as it is known."""
        about = About(self._title, self._clocks.now(), is_live=True, notes=self._notes())
        self._last = self._model.value(about, history=self._history.points)
        return self._last

    def run(self, tell: Tell, stop: Event) -> None:
        """Follow until ``stop`` is set; ``tell`` gets a value after each change."""
        self.listen(stop)
        while not stop.is_set():
            stop.wait(rest_s(self.safe_turn(tell)))

    def safe_turn(self, tell: Tell) -> float:
        """Do what ``turn`` does. After an error the page says from then on that it is not up to date.

        The changes of that turn may be lost, so that later turns do not make it true again.
        """
        try:
            return self.turn(tell)
        except Exception as error:  # noqa: BLE001 - whatever it is: the page must not look live for ever
            if not self._failure:
                _log.exception("the page is not up to date: changes of the cluster were not taken in")
                self._failure = (
                    f"what is shown is not up to date since {self._clocks.now()}: {error!r}; the log of the "
                    "program that serves this page says more; start it again"
                )
                known = self._last or self.value()
                tell({**known, "notes": [self._failure, *known["notes"]]})
            return _REST_S

    def listen(self, stop: Event) -> None:
        """Begin to watch."""
        for one in self._watched:
            one.subscribe(self._hearing(one.kind))
            Thread(target=self._follow, args=(one, stop), name=f"page-{one.kind}", daemon=True).start()

    def turn(self, tell: Tell) -> float:
        """Wait a moment for changes, apply them, and tell the listeners of the page.

        Units: seconds of processor time that this took, 0 where there was nothing to do.
        """
        changed = self._messages()
        began = self._clocks.work()
        slices: list[SliceSeen] = []
        for one in changed:
            if one is not None:
                self._take(one, slices)
        self._seen.set_slices(slices)
        is_due = self._history.is_due(self._clocks.wall())
        if is_due:
            self._history.add(self._model.point(self._clocks.wall()))
        if changed or self._last is None:
            tell(self.value())
        elif is_due:  # nothing else is another one
            points = [as_json(one) for one in self._history.points]
            self._last = {**self._last, "made": self._clocks.now(), "history": points}
            tell(self._last)
        else:
            return 0.0
        return self._clocks.work() - began

    def _notes(self) -> tuple[str, ...]:
        unlisted = (one.kind for one in self._watched if not one.is_synced and one.kind not in self._problems)
        problems = self._problems.copy().values()
        failure = (self._failure,) if self._failure else ()
        return (*failure, *(f"objects of kind {kind} are not read yet" for kind in unlisted), *problems)

    def _messages(self) -> list[Changed | None]:
        found: list[Changed | None] = []
        try:
            found.append(self._inbox.get(timeout=_WAIT_S))
            while True:
                found.append(self._inbox.get_nowait())
        except Empty:
            return found

    def _hearing(self, kind: str) -> Callable[[str, str, object, object], None]:
        return lambda *change: self._inbox.put(Changed(kind, *change))

    def _follow(self, watched: Watched, stop: Event) -> None:
        was_synced = False
        for problem in watched.follow(stop):
            known = self._problems.pop(watched.kind, "")
            if problem:
                self._problems[watched.kind] = problem
            if problem != known or watched.is_synced != was_synced:
                was_synced = watched.is_synced
                self._inbox.put(None)  # the notes have changed

    def _take(self, one: Changed, slices: list[SliceSeen]) -> None:
        """Enter a change; slices are collected, since those of one pool are cheaper together."""
        seen = self._seen
        if not isinstance(one.new, SliceSeen) and slices:
            seen.set_slices(slices.copy())
            slices.clear()
        match one.kind:
            case "ResourceSlice" | "CompositeResourceSlice" if one.new is not None:
                slices.append(one.new)
            case "ResourceSlice" | "CompositeResourceSlice":
                seen.remove_slice(key_of(one.kind, one.name))
            case "Pod":
                self._take_pod(one.old, one.new)
            case "Node":
                seen.remove_node(one.name) if one.new is None else seen.set_node(one.new)
            case "ResourceClaim" if one.new is None:
                seen.remove_claim(ClaimRef(one.namespace, one.name))
            case "ResourceClaim":
                seen.set_claim(one.new)
            case "DeviceClass" if isinstance(one.new, DeviceClass):
                seen.set_class(one.new)
            case "DeviceClass":
                seen.remove_class(one.name)
            case _:
                raise AssertionError(f"nobody handles {one.kind}")

    def _take_pod(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and (new is None or new.uid != old.uid):
            self._seen.remove_pod(old.uid)
        if new is not None:
            self._seen.set_pod(new)


def rest_s(worked_s: float) -> float:
    """PURE: how long to rest after a turn, so that whoever shares the process gets on. Units: seconds.

    It counts work, not time: on a busy machine the page would be late for longer than it is busy.
    """
    return min(max(_REST_S, _RESTS * worked_s), _LONGEST_REST_S) if worked_s else 0.0
