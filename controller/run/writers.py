"""The threads that write: they take plans, carry each out, and tell what became of it.

In go plans by a queue; out go messages for the loop. A plan whose writes failed half way is told only when
its claims were read again, so that the loop knows what is written.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
from typing import Final

from controller.plan.log_fields import of_plan
from controller.plan.plans import GroupPlacement, Placement, Plan, about
from controller.run.messages import Message, Refresh, Refreshed, Written
from controller.run.ports import Why
from controller.run.surprises import Surprises
from controller.run.writer import Outcome, Writer
from daemon.log_fields import log_about

_THREADS: Final = 8
_SETTLE_S: Final = (0.5, 1.0, 2.0, 5.0)  # waits between reads of claims whose writes have no known end


class Writers:
    """Several threads with one queue.

    Shape: ``tell`` takes messages, from any thread; ``ended`` set means that nobody waits for the server
           any more.
    Units: ``clock`` in seconds, monotonic.
    """

    def __init__(
        self,
        writer: Writer,
        tell: Callable[[Message], None],
        surprises: Surprises,
        ended: Event,
        clock: Callable[[], float],
    ) -> None:
        self._writer = writer
        self._tell = tell
        self._surprises = surprises
        self._ended = ended
        self._clock = clock
        self._work: SimpleQueue[Plan | Refresh | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._run, name=f"write-{one}", daemon=True) for one in range(_THREADS)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def put(self, plan: Plan | Refresh) -> None:
        """Have a plan carried out by the next thread that is free."""
        self._work.put(plan)

    def join(self) -> None:
        """Wait until all plans are carried out and the threads have ended."""
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (plan := self._work.get()) is not None:
            if isinstance(plan, Refresh):
                self._until_answered(self._writer.refresh)
                self._tell(Refreshed())
                continue
            began = self._clock()
            outcome = self._carried_out(plan)
            if outcome.failure is not None and isinstance(plan, Placement | GroupPlacement):
                self._settle(plan)
            self._tell(Written(plan, outcome, self._clock() - began))

    def _carried_out(self, plan: Plan) -> Outcome:
        try:
            return self._writer.carry_out(plan)
        except Exception as error:  # noqa: BLE001 - a thread that ends would leave its pod in flight for ever
            with log_about(**of_plan(plan)):
                self._surprises.met(error, "write", about(plan))
            return Outcome(Why.UNKNOWN, f"unexpected error: {type(error).__name__}")

    def _settle(self, plan: Placement | GroupPlacement) -> None:
        """Read the claims of a plan that failed until the server answers: something may be written."""
        self._until_answered(lambda: self._writer.settle(plan))

    def _until_answered(self, ask: Callable[[], bool]) -> None:
        tries = 0
        while not self._is_answered(ask) and not self._ended.wait(_SETTLE_S[min(tries, 3)]):
            tries += 1

    def _is_answered(self, ask: Callable[[], bool]) -> bool:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - as above
            self._surprises.met(error, "write", "reading claims")
            return False
