"""Pods that failed several times in a row, and until when nothing is tried for them or their groups.

Takes failures with their times; returns the pods that may be tried again. Pure; for one thread.
"""

from __future__ import annotations

from typing import Final

_FIRST_S: Final = 1.0
_MOST_S: Final = 60.0
_DOUBLINGS: Final = 6  # 64 s are more than the longest wait


class SetAside:
    """Pods by UID. Units: seconds, monotonic times."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._until)

    def __contains__(self, uid: str) -> bool:
        return uid in self._until

    def failed(self, uid: str, now: float, free: int) -> None:
        """Note a failure. The first ``free`` in a row cost nothing, further ones ever more time."""
        failures = self._failures[uid] = self._failures.get(uid, 0) + 1
        if failures > free:
            wait_s = _FIRST_S * 2.0 ** min(failures - free - 1, _DOUBLINGS)
            self._until[uid] = now + min(_MOST_S, wait_s)

    def due(self, now: float) -> list[str]:
        """Return the pods that may be tried again, each once; their failures are remembered."""
        found = [uid for uid, until in self._until.items() if until <= now]
        for uid in found:
            del self._until[uid]
        return found

    def forget(self, uid: str) -> None:
        """Forget a pod that is served or gone."""
        self._failures.pop(uid, None)
        self._until.pop(uid, None)
