"""A refusal as JSON says it: in short for ``tangram allocate``, all of it for ``tangram explain``."""

from __future__ import annotations

from typing import Any

from scheduler_core.model.result import Reason, Unallocatable
from scheduler_core.reasons import told
from tangram.plain import plain


def refusal_value(refusal: Unallocatable) -> dict[str, Any]:
    """Return that the claims do not fit, with the cause that decides and the reasons."""
    return {
        "allocated": False,
        "cause": refusal.cause.value,
        "node": refusal.node,
        "reasons": [_reason(reason) for reason in refusal.reasons],
    }


def refusal_in_full(refusal: Unallocatable) -> dict[str, Any]:
    """Return the refusal with what every request matched and lacked, and what cannot hold together."""
    return {
        **refusal_value(refusal),
        "requests": plain(refusal.requests),
        "constraints": plain(refusal.constraints),
        "conflict": plain(refusal.conflict),
    }


def _reason(reason: Reason) -> dict[str, Any]:
    refused = reason.constraint
    found: dict[str, Any] = {
        "claim": plain(reason.claim),
        "request": reason.request,
        "cause": reason.cause.value,
        "detail": reason.detail,
    }
    return (
        found if refused is None else found | {"constraint": told(refused), "over": plain(refused.requests)}
    )
