"""How long a call waits for devices that another claim holds and is about to release.

Deleting a pod by force frees its devices for the scheduler before the kubelet has unprepared them, so the
next claim's call comes a moment too early. The kubelet would repeat a refused call only seconds later. So the
call itself tries again, without holding any other lock than its claim's, until its time is up or the caller
hung up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_TRY_AGAIN_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class HolderWait:
    """The wait of one call. Units: ``ends_at`` seconds of ``clock``."""

    ends_at: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    is_wanted: Callable[[], bool]

    def once_more(self) -> bool:
        """Sleep a moment and return True to try again; return False at once where the wait is over."""
        if self.clock() >= self.ends_at or not self.is_wanted():
            return False
        self.sleep(_TRY_AGAIN_S)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderWaits:
    """Begins the wait of each call.

    Units: ``wait_s`` seconds of ``clock``, for all claims of a call together.
    """

    wait_s: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    def begin(self, is_wanted: Callable[[], bool]) -> HolderWait:
        """Begin a call's wait. Shape: ``is_wanted`` whether the caller still waits for the answer."""
        return HolderWait(self.clock() + self.wait_s, self.clock, self.sleep, is_wanted)
