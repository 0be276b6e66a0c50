"""Makes calls no faster than allowed, and repeats them where that may help and cannot do harm.

Takes calls; returns bodies. A call has one deadline for all its attempts and the waits between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from kube_api.calls import Call
from kube_api.errors import NotFound, Unavailable, Untrusted
from kube_api.pacing import Backoff, Clock, Limits, Random, Sleep, TokenBucket

if TYPE_CHECKING:  # it imports the kubernetes package: only a program that connects needs that
    from kube_api.stream import Stream
    from kube_api.transport import Transport

_NOTHING: Final = b"{}"


@dataclass(frozen=True, slots=True)
class Caller:
    """Makes the calls of one program to one API server. Safe between threads.

    Shape: ``may_write`` is asked before each piece of a request that changes something.
    """

    transport: Transport
    limits: Limits
    bucket: TokenBucket
    clock: Clock
    sleep: Sleep
    random: Random
    may_write: Callable[[], bool] | None = None

    def send(self, call: Call, attempts: int | None = None) -> bytes:
        """Make a call and return the body. A call that failed is repeated after a wait.

        Raises: ApiError, the last one; at once where the server asks for a longer wait than we grant, or
                where the wait would not end before the call's deadline; Withheld where the guard says no.
        """
        if self.may_write is not None and not call.is_reading:
            call = replace(call, may_send=self.may_write)
        backoff: Backoff | None = None
        left = attempts or self.limits.attempts
        may_be_done = False
        self._pace()
        ends_at_s = self.clock() + self.limits.call_timeout_s
        while True:
            left -= 1
            try:
                return self.transport.send(call, ends_at_s)
            except Unavailable as problem:
                backoff = backoff or self.backoff(self.limits.longest_delay_s)
                delay_s = backoff.next(problem.retry_after_s)
                is_late = self.clock() + delay_s >= ends_at_s
                if not left or is_late or not self._may_repeat(call, problem):
                    raise
                may_be_done = may_be_done or not problem.is_unsent
                self.sleep(delay_s)
            except NotFound:
                if call.method == "DELETE" and may_be_done:
                    return _NOTHING  # our own first attempt deleted it, and its answer was lost
                raise
            self._pace()

    def open(self, call: Call, lasts_s: float) -> Stream:
        """Make a call whose answer is read line by line; it is made once.

        Units:  ``lasts_s`` seconds after which the server is expected to end the answer.
        Raises: ApiError.
        """
        self._pace()
        return self.transport.stream(call, lasts_s)

    def backoff(self, longest_s: float) -> Backoff:
        """Return the delays for a new series of failures."""
        return Backoff(self.limits.first_delay_s, longest_s, self.random)

    def _pace(self) -> None:
        if wait_s := self.bucket.reserve():
            self.sleep(wait_s)

    def _may_repeat(self, call: Call, problem: Unavailable) -> bool:
        """Whether a second attempt may help and cannot do harm.

        A server that says when to come back has done nothing, so every verb is repeated then, as client-go
        does.
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
