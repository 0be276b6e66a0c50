"""The thread of an election: asks and writes the Lease, and tells whether this process may write.

Each decision is made in ``controller.election.state``. Calls are made one after another, by one thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from controller.election import state as rules
from controller.election.ports import LeaseError, LeaseOutdated, Leases
from controller.election.state import Create, Read, Renew, State, Take, Wait
from controller.election.values import CLOSED, NOBODY, Times

_log: Final = logging.getLogger(__name__)
Clock = Callable[[], float]


def running_clock() -> float:
    """Return seconds that go on while this process is stopped and while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Elector:
    """Holds the Lease for this process, or waits for it.

    Shape: ``identity`` must be another one in every process, also after a restart; ``hear`` is called by the
           elector's thread with True when this process may write and with False when it may not any more. It
           can be late, so it only informs: ``may_write`` decides.
    """

    def __init__(
        self,
        leases: Leases,
        identity: str,
        times: Times,
        hear: Callable[[bool], None],
        clock: Clock = running_clock,
    ) -> None:
        self._leases = leases
        self._hear = hear
        self._clock = clock
        self._state = State(identity=identity, times=times, next_at_s=clock())
        self._window = CLOSED
        self._told = False
        self._trouble = ""

    def may_write(self) -> bool:
        """Whether a write may begin now; it must end within ``Times.longest_write_s``. For any thread."""
        return self._window.is_open(self._clock())

    def run(self, stop: threading.Event) -> None:
        """Take part until ``stop`` is set; after that nothing may be written. Call ``release`` then."""
        while not stop.is_set():
            step = rules.next_step(self._state, self._clock())
            if isinstance(step, Wait):
                stop.wait(max(0.0, step.until_s - self._clock()))
            else:
                self._take(step)
            self._window = self._state.window
            self._tell()
        self._window = CLOSED
        self._tell()

    def release(self) -> None:
        """Give the Lease back, so that the next process need not wait for its end.

        Call it after ``run`` has returned and the last write of this process has ended. A Lease that cannot
        be given back ends by itself.
        """
        lease = rules.to_release(self._state, self._clock())
        if lease is None:
            return
        try:
            self._leases.write(lease, NOBODY, self._state.times.lease_s)
        except LeaseError as error:
            _log.warning("the Lease was not given back: %s; it ends by itself", error)

    def _take(self, step: Read | Create | Take | Renew) -> None:
        """Make one call and take its result into the state."""
        try:
            self._state = self._called(step)
        except LeaseOutdated:
            self._state = rules.outdated(self._state, self._clock())
        except LeaseError as error:
            self._state = rules.unanswered(self._state, self._clock())
            self._complain(str(error))
        except Exception:  # noqa: BLE001  # the outermost loop of this thread: it is tried again
            self._state = rules.unanswered(self._state, self._clock())
            _log.exception("the Lease was not read or written")
        else:
            self._trouble = ""

    def _called(self, step: Read | Create | Take | Renew) -> State:
        state, lasts_s = self._state, self._state.times.lease_s
        sent_at_s = self._clock()
        match step:
            case Read():
                return rules.found(state, self._leases.read(), self._clock())
            case Create():
                lease = self._leases.create(state.identity, lasts_s)
            case Take(lease=known) | Renew(lease=known):
                lease = self._leases.write(known, state.identity, lasts_s)
        return rules.written(state, lease, sent_at_s, self._clock())

    def _complain(self, problem: str) -> None:
        if problem != self._trouble:
            _log.warning("the election goes on without an answer: %s", problem)
        self._trouble = problem

    def _tell(self) -> None:
        if (is_leading := self.may_write()) != self._told:
            _log.info("this process %s", "may write" if is_leading else "may not write any more")
            self._told = is_leading
            self._hear(is_leading)
