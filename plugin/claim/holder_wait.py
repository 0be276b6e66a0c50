"""How long a call waits for devices that another claim is about to let go.

Who forces a pod away frees its devices for the scheduler before the kubelet has undone them: the next
claim's call comes a moment too early. The kubelet would repeat a refused call in seconds, so the call itself
looks again meanwhile, without any lock, until its time is up or nobody wants the answer any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_LOOK_AGAIN_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Wait:
    """The patience of one call. Units: ``ends_at`` seconds of ``clock``."""

    ends_at: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    is_wanted: Callable[[], bool]

    def once_more(self) -> bool:
        """Let a moment pass and say that it is worth another look; without a pause that it is not."""
        if self.clock() >= self.ends_at or not self.is_wanted():
            return False
        self.sleep(_LOOK_AGAIN_S)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """The patience of every call. Units: ``wait_s`` seconds of ``clock``, for all its claims together."""

    wait_s: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def begin(self, is_wanted: Callable[[], bool]) -> Wait:
        """Begin to count. Shape: ``is_wanted`` says whether somebody still waits for the answer."""
        return Wait(self.clock() + self.wait_s, self.clock, self.sleep, is_wanted)
