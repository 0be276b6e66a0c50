"""How fast this program calls an API server, and how long it waits before it tries again.

Takes limits; returns delays. Clock, sleep and randomness are arguments. Nothing here sends anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

MIB: Final = 1024 * 1024
Clock = Callable[[], float]
Sleep = Callable[[float], None]
Random = Callable[[], float]
"""Returns a number from 0 to 1, 1 excluded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one program may ask of an API server.

    Units: calls per second for ``calls_per_s``; seconds for names in ``_s``; bytes for names in ``_bytes``.
    Shape: ``attempts`` counts the first one too. ``read_timeout_s`` is how long a server may be silent during
           a call, ``call_timeout_s`` how long a call may take in all, with its repetitions and the waits
           between them. ``watch_idle_s`` must be longer than the minute after which a server sends a bookmark
           when nothing happens. A watch is asked to end after ``watch_lasts_s`` to twice that, as client-go
           does, so that not all clients of a server come back at once.
    Source: ``longest_line_bytes``: API servers store objects of 1.5 MiB at most (etcd's default).
    """

    calls_per_s: float = 50.0
    burst: int = 100
    connect_timeout_s: float = 3.0
    read_timeout_s: float = 30.0
    call_timeout_s: float = 120.0
    attempts: int = 5
    first_delay_s: float = 0.1
    longest_delay_s: float = 10.0
    longest_retry_after_s: float = 30.0
    watch_lasts_s: float = 300.0
    watch_idle_s: float = 130.0
    watch_longest_delay_s: float = 30.0
    largest_body_bytes: int = 256 * MIB
    longest_line_bytes: int = 16 * MIB

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if getattr(self, name) <= 0:
                raise ValueError(f"limit {name} is {getattr(self, name)}, it must be above 0")


@dataclass(slots=True)
class TokenBucket:
    """Lets ``burst`` calls through at once and ``per_s`` each second after that. Safe between threads."""

    per_s: float
    burst: float
    clock: Clock
    _tokens: float = field(init=False)
    _at: float = field(init=False)
    _lock: Lock = field(init=False, default_factory=Lock)

    def __post_init__(self) -> None:
        self._tokens = self.burst
        self._at = self.clock()

    def reserve(self) -> float:
        """Take the next token, even if it is not there yet, and return how many seconds to wait for it."""
        with self._lock:
            self._refill()
            self._tokens -= 1
            return max(0.0, -self._tokens / self.per_s)

    def take(self) -> bool:
        """Take a token if there is one."""
        with self._lock:
            self._refill()
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def _refill(self) -> None:
        now = self.clock()
        self._tokens = min(self.burst, self._tokens + max(0.0, now - self._at) * self.per_s)
        self._at = now


@dataclass(slots=True)
class Budget:
    """What one namespace may still do. Shape: ``is_spent`` is for its user, to tell it once."""

    bucket: TokenBucket
    is_spent: bool = False


@dataclass(slots=True)
class Budgets:
    """One budget for each key, of the ``most`` keys that were used last. For one thread."""

    make: Callable[[], TokenBucket]
    most: int
    _kept: dict[str, Budget] = field(init=False, default_factory=dict)

    def of(self, key: str) -> Budget:
        """Return the budget of a key."""
        found = self._kept.pop(key, None) or Budget(self.make())
        self._kept[key] = found
        if len(self._kept) > self.most:
            self._kept.pop(next(iter(self._kept)))
        return found


@dataclass(slots=True)
class Backoff:
    """Delays that double. Each is spread over its upper half, so that not all clients come back at once."""

    first_s: float
    longest_s: float
    random: Random
    _failures: int = 0

    def next(self, at_least_s: float | None = None) -> float:
        """Return the next delay, never below what the server asked for."""
        full = min(self.longest_s, self.first_s * 2.0 ** min(self._failures, 40))
        self._failures += 1
        return max(full * (0.5 + 0.5 * self.random()), at_least_s or 0.0)

    def reset(self) -> None:
        """Start again with the shortest delay."""
        self._failures = 0
