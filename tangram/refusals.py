"""A refusal as JSON says it, in short and in full, and as kube-scheduler takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scheduler_core.model.claim import Claim
from scheduler_core.model.result import Cause, Reason, Unallocatable, Undecided
from scheduler_core.model.sentences import constraint_text
from tangram.plain import plain

_MISTAKES: Final = (Cause.TOO_MANY_DEVICES, Cause.POOL_INVALID)


def refusal_value(refusal: Unallocatable) -> dict[str, Any]:
    """Return that the claims do not fit, with the cause that decides and the reasons."""
    return {
        "allocated": False,
        "cause": refusal.cause.value,
        "node": refusal.node,
        "reasons": [_reason(reason) for reason in refusal.reasons],
    }


def undecided_value(undecided: Undecided) -> dict[str, Any]:
    """Return that it is undecided whether the claims fit."""
    return {"allocated": False, "undecided": True, **plain(undecided)}


def refusal_in_full(refusal: Unallocatable) -> dict[str, Any]:
    """Return the refusal with what every request matched and lacked, and the requests in conflict."""
    return {
        **refusal_value(refusal),
        "requests": plain(refusal.requests),
        "funnels": plain(refusal.funnels),
        "constraints": plain(refusal.constraints),
        "conflict": plain(refusal.conflict),
    }


def mistake_in(refusal: Unallocatable, claims: Sequence[Claim]) -> str | None:
    """Return why kube-scheduler would end with an error where the core says that claims do not fit.

    It takes a claim for too many devices, an invalid pool, and all devices of a pool that is incomplete for
    mistakes that a person has to fix; the core reports them as reasons, since the claims do not fit either
    way. None where there is nothing to fix.
    """
    for reason in refusal.reasons:
        is_mistake = reason.cause in _MISTAKES or (
            reason.cause is Cause.POOL_INCOMPLETE and _wants_all(reason, claims)
        )
        if is_mistake:
            return str(reason)
    return None


def _wants_all(reason: Reason, claims: Sequence[Claim]) -> bool:
    """Whether the request wants all matching devices, in each of its alternatives."""
    name = reason.request.partition("/")[0]
    named = (
        one for claim in claims if claim.ref == reason.claim for one in claim.requests if one.name == name
    )
    return any(all(option.count is None for option in one.alternatives) for one in named)


def _reason(reason: Reason) -> dict[str, Any]:
    refused = reason.constraint
    found: dict[str, Any] = {
        "claim": plain(reason.claim),
        "request": reason.request,
        "cause": reason.cause.value,
        "detail": reason.detail,
    }
    return (
        found
        if refused is None
        else found | {"constraint": constraint_text(refused), "over": plain(refused.requests)}
    )
