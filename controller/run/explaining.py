"""Why pods wait: the last decision about each, found out and told one after the other.

Takes decisions; returns plans that tell them. Pure; for one thread; times are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from controller.decide.decisions import Decision, NotTogether
from controller.model.pods import Pod
from controller.plan.plans import Plan
from controller.run.telling import Telling

_TELLS: Final = 20  # at a time


class Explaining:
    """What is told to pods that wait.

    Shape: ``refused`` the last decision about pods that get nothing, by UID; ``why`` returns a text for a
           decision, ``alike`` the UIDs of the pods that ask for the same as one of them.
    """

    def __init__(
        self, pods: Mapping[str, Pod], why: Callable[[Decision], str], alike: Callable[[str], list[str]]
    ) -> None:
        self.refused: dict[str, Decision] = {}
        self._pods = pods
        self._why = why
        self._same_shape = alike
        self._telling = Telling()
        self._unexplained: dict[str, None] = {}

    def put(self, *decisions: Decision) -> None:
        """Note decisions against pods that share one reason; ``explain`` works it out later."""
        for one in decisions:
            self.refused[one.question.pod.uid] = one
        self._unexplained[decisions[0].question.pod.uid] = None

    def tell(self, uid: str, text: str) -> None:
        """Set why a pod waits; only those at our gate are told what needs no decision."""
        if text and self._pods[uid].is_gated:
            self._telling.put(uid, text)

    def tell_again(self, uid: str, text: str) -> None:
        """Tell a pod later what it could not be told now."""
        self._telling.put(uid, text)

    def withdraw(self, uid: str) -> None:
        """Tell a pod nothing: what it was to be told is no longer so."""
        self._telling.withdraw(uid)

    def look_again(self, now: float) -> None:
        """Find out anew why pods wait that were told something not long ago, where that time is over."""
        for uid in self._telling.overdue(now):
            self._unexplained[uid] = None

    def forget(self, uid: str) -> None:
        """Forget a pod that does not wait any more, or for something else."""
        self.refused.pop(uid, None)
        self._telling.forget(uid)

    def explain(self, now: float, since: Mapping[str, float], after_s: float) -> bool:
        """Find out why one pod waits, to tell it and those that wait for the same reason.

        Shape: ``since`` when pods began to wait; the first one that has not waited for ``after_s`` is left
               for later, since it may soon have its devices. False where nothing is to be found out now.
        """
        while self._unexplained:
            uid = next(iter(self._unexplained))
            if uid in self.refused and now - since.get(uid, now) < after_s:
                return False
            del self._unexplained[uid]
            pod, decision = self._pods.get(uid), self.refused.get(uid)
            if pod is None or decision is None:
                continue
            if not self._telling.is_due(pod, now):
                self._telling.put_off(uid)
                continue
            text = self._why(decision)
            if text:
                for one in self._alike(uid, decision):
                    self._telling.put(one, text)
                return True
        return False

    def tells(self, now: float) -> Iterator[Plan]:
        """Yield what to tell pods now."""
        yield from self._telling.due(self._pods, now, _TELLS)

    def _alike(self, uid: str, decision: Decision) -> list[str]:
        if not isinstance(decision, NotTogether):
            return self._same_shape(uid)
        return [
            one
            for one, other in self.refused.items()
            if isinstance(other, NotTogether) and other.why == decision.why
        ]
