"""Which pods are told why they wait, and when: once per reason, never the same twice, never often.

Takes reasons; returns plans. Pure; for one thread. Times are arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from controller.model.pods import Pod
from controller.plan.plans import Tell

_AGAIN_S: Final = 60.0  # before a pod is told another reason


class Telling:
    """What pods were told and are to be told, by UID."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._told_at: dict[str, float] = {}
        self._put_off: dict[str, None] = {}

    def put(self, uid: str, text: str) -> None:
        """Set why a pod waits."""
        self._texts[uid] = text

    def withdraw(self, uid: str) -> None:
        """Tell a pod nothing: what it was to be told is no longer so."""
        self._texts.pop(uid, None)

    def forget(self, uid: str) -> None:
        """Forget a pod that waits no longer."""
        self._texts.pop(uid, None)
        self._told_at.pop(uid, None)
        self._put_off.pop(uid, None)

    def put_off(self, uid: str) -> None:
        """Note that a pod may have another reason, and was told one not long ago."""
        self._put_off[uid] = None

    def overdue(self, now: float) -> list[str]:
        """Return the pods that were put off and may be told something new now; each once."""
        found = [uid for uid in self._put_off if now - self._told_at.get(uid, -_AGAIN_S) >= _AGAIN_S]
        for uid in found:
            del self._put_off[uid]
        return found

    def is_due(self, pod: Pod, now: float) -> bool:
        """Whether a pod may be told something new."""
        last = self._told_at.get(pod.uid)
        return last is None or now - last >= _AGAIN_S

    def due(self, pods: Mapping[str, Pod], now: float, most: int) -> Iterator[Tell]:
        """Yield what to tell now, at most so many; what the pod says already is not told again."""
        for uid, text in list(self._texts.items()):
            if most <= 0:
                return
            pod = pods.get(uid)
            if pod is None:
                self.forget(uid)
            elif pod.told == text:
                del self._texts[uid]
                self._told_at.setdefault(uid, now)
            elif self.is_due(pod, now):
                del self._texts[uid]
                self._told_at[uid] = now
                most -= 1
                yield Tell(pod.ref, uid, text)
