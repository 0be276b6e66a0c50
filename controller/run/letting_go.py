"""Pods that have waited too long at our gate: it is removed without devices, so that others see them.

Autoscalers look at pods that kube-scheduler cannot place, and not at pods behind a gate. Pure; for one
thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from controller.model.pods import Pod
from controller.plan.plans import LetGo
from controller.queue.waiting_line import WaitingLine


class LettingGo:
    """Which pods were let go. Units: ``after_s`` seconds, None for never."""

    def __init__(self, waiting: Mapping[str, Pod], after_s: float | None) -> None:
        self._waiting = waiting
        self._after_s = after_s
        self._gone: set[str] = set()

    def forget(self, uid: str) -> None:
        """Forget a pod that waits no longer."""
        self._gone.discard(uid)

    def due(
        self, now: float, since: Mapping[str, float], line: WaitingLine, in_flight: Collection[str]
    ) -> Iterator[LetGo]:
        """Yield the pods whose gate goes now, each once. Shape: ``since`` when pods began to wait."""
        if self._after_s is None:
            return
        for uid, began in since.items():
            pod = self._waiting.get(uid)
            if pod is None or not pod.is_gated or now - began < self._after_s or uid in self._gone:
                continue
            if uid not in in_flight and (uid in line or pod.group is not None):
                self._gone.add(uid)
                yield LetGo(pod.ref, uid)
