"""Nodes that will not do for a pod, and for how long that is believed. Pure; for one thread."""

from __future__ import annotations


class Distrust:
    """What is known against nodes.

    Shape: ``against`` are reasons by pod (UID) and node.
    """

    def __init__(self) -> None:
        self.against: dict[str, dict[str, str]] = {}
        self._at: dict[str, float] = {}

    def note(self, uid: str, node: str, why: str, now: float) -> None:
        """Note that a node will not do for a pod. Units: monotonic seconds."""
        self.against.setdefault(uid, {})[node] = why
        self._at[uid] = now

    def forget(self, uid: str) -> None:
        """Forget a pod."""
        self.against.pop(uid, None)
        self._at.pop(uid, None)

    def trust(self, node: str) -> list[str]:
        """Forget what is known against a node that has changed; return the pods that this concerns."""
        found = [uid for uid, reasons in self.against.items() if node in reasons]
        for uid in found:
            del self.against[uid][node]
            if not self.against[uid]:
                self.forget(uid)
        return found

    def ended(self, now: float, after_s: float) -> list[str]:
        """Forget what is too old to be believed; return the pods that this concerns."""
        found = [uid for uid, at in self._at.items() if now - at >= after_s]
        for uid in found:
            self.forget(uid)
        return found
