"""Calls with manners: no faster than allowed, repeated where that helps and cannot do harm.

Calls enter, bodies leave. What is said and what is stored is decided above, how bytes travel below.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from kube_api.calls import Call
from kube_api.errors import NotFound, Unavailable, Untrusted
from kube_api.pacing import Backoff, Clock, Limits, Random, Sleep, TokenBucket

if TYPE_CHECKING:  # it brings the kubernetes package along: only whoever connects pays for that
    from kube_api.transport import Stream, Transport

_NOTHING: Final = b"{}"


@dataclass(frozen=True, slots=True)
class Caller:
    """One program's way to one API server. Safe between threads."""

    transport: Transport
    limits: Limits
    bucket: TokenBucket
    clock: Clock
    sleep: Sleep
    random: Random

    def send(self, call: Call, attempts: int | None = None) -> bytes:
        """Make a call, again after a wait where it failed for now, and return the body.

        Raises: ApiError, the last one; at once where the server asks for a longer wait than we grant.
        """
        backoff = self.backoff(self.limits.longest_delay_s)
        left = attempts or self.limits.attempts
        may_be_done = False
        while True:
            self._pace()
            left -= 1
            try:
                return self.transport.send(call)
            except Unavailable as problem:
                if not left or not self._may_repeat(call, problem):
                    raise
                may_be_done = may_be_done or not problem.is_unsent
                self.sleep(backoff.next(problem.retry_after_s))
            except NotFound:
                if call.method == "DELETE" and may_be_done:
                    return _NOTHING  # it was our own first attempt whose answer got lost
                raise

    def open(self, call: Call) -> Stream:
        """Make a call whose answer is read line by line, once. Raises: ApiError."""
        self._pace()
        return self.transport.stream(call)

    def backoff(self, longest_s: float) -> Backoff:
        """Return fresh delays."""
        return Backoff(self.limits.first_delay_s, longest_s, self.random)

    def _pace(self) -> None:
        if wait_s := self.bucket.reserve():
            self.sleep(wait_s)

    def _may_repeat(self, call: Call, problem: Unavailable) -> bool:
        """Tell whether a second attempt is harmless and worth it.

        A server that says when to come back has done nothing: client-go repeats every verb then, too.
        """
        if isinstance(problem, Untrusted):
            return False
        if (problem.retry_after_s or 0.0) > self.limits.longest_retry_after_s:
            return False
        had_no_effect = (
            problem.is_unsent
            or problem.status == HTTPStatus.TOO_MANY_REQUESTS
            or problem.retry_after_s is not None
        )
        return had_no_effect or call.is_repeatable
