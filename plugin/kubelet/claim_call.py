"""One claim of one call of the kubelet: what was asked, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, Protocol

import grpc

from daemon.log_fields import fields
from plugin.base.budget import Budget
from plugin.base.claim_uid import checked_uid, is_uid
from plugin.base.errors import CallerGone, PluginError, Unexpected
from plugin.claim.plan import PreparedDevice
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid

_TOLD: Final = 3


class WireClaim(Protocol):
    """A claim as every version of the contract names it."""

    @property
    def namespace(self) -> str: ...  # noqa: D102 - the wire's fields
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def uid(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer for one claim. Shape: ``error`` empty on success; ``devices`` empty on failure."""

    devices: tuple[PreparedDevice, ...] = ()
    error: str = ""


_NOTHING_YET: Final = Outcome()


@dataclass(slots=True, kw_only=True)
class ClaimCall:
    """One claim of one call.

    Shape: ``budget`` what the whole call may wait; ``ours`` its devices of this node of which the claim's
           status speaks, empty until its allocation is read; ``reading`` the allocation that is read ahead.
    """

    attempted: str
    ref: ClaimRef
    uid: str
    context: grpc.ServicerContext
    budget: Budget
    ours: tuple[AllocatedDevice, ...] = ()
    reading: Future[AllocatedClaim] | None = None
    outcome: Outcome = _NOTHING_YET
    failure: PluginError | None = None

    def checked_uid(self) -> ClaimUid:
        """Return the UID. Raises: ClaimUnusable where it cannot be used."""
        return checked_uid(self.uid, self.ref)

    @property
    def can_be_told(self) -> bool:
        """Whether users are told of the failure: there may be such a claim, and somebody waits for it."""
        return is_uid(self.uid) and not isinstance(self.failure, CallerGone)

    def refuse_gone(self) -> None:
        """Check that the kubelet waits; else it may have asked to undo the claim. Raises: CallerGone."""
        if not self.context.is_active():
            raise CallerGone(self.attempted, f"claim {self.ref}", "the kubelet gave up waiting")

    def fail(self, error: Exception) -> None:
        """Make an error the claim's outcome, with the claim named exactly once."""
        if not isinstance(error, PluginError):
            reason = f"unexpected {type(error).__name__}: {error}"
            mistake, error = error, Unexpected(self.attempted, f"claim {self.ref}", reason)
            error.__cause__ = mistake
        self.failure = error
        is_named = error.subject.endswith(f"claim {self.ref}")
        self.outcome = Outcome(error=str(error) if is_named else f"claim {self.ref}: {error}")


def failures_text(calls: Sequence[ClaimCall]) -> str:
    """Return one line about all claims of a call that failed, empty where none did."""
    texts = [call.outcome.error for call in calls if call.outcome.error]
    if len(texts) < 2:  # one failure needs no count
        return "".join(texts)
    told = "; ".join(texts[:_TOLD])
    rest = f"; and {len(texts) - _TOLD} more" if len(texts) > _TOLD else ""
    return f"{calls[0].attempted}: {len(texts)} of {len(calls)} claims failed: {told}{rest}"


def fields_of_calls(calls: Sequence[ClaimCall]) -> dict[str, Any]:
    """Return the ``extra`` of that line: the claim where it is about one."""
    if len(calls) != 1:
        return {}
    (call,) = calls
    devices = ",".join(one.device.device for one in call.ours)
    requests = ",".join(dict.fromkeys(one.request for one in call.ours))
    ref = call.ref
    return fields(namespace=ref.namespace, claim=ref.name, uid=call.uid, device=devices, request=requests)
