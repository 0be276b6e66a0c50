"""Remedies and groups of nodes as JSON says them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_core.advice.refused_nodes import RefusedAlike
from scheduler_core.advice.remedies import EndClaims, PodTogether, Remedy, Together
from scheduler_core.advice.sentences import remedy_text
from tangram.plain import plain


def remedies_value(remedies: Sequence[Remedy]) -> list[dict[str, Any]]:
    """Return remedies with their kind and as sentences. Shape: of claims to end, names and devices."""
    return [{"kind": type(one).__name__, "text": remedy_text(one), **_fields(one)} for one in remedies]


def refused_value(groups: Sequence[RefusedAlike]) -> list[dict[str, Any]]:
    """Return how many nodes refuse the claims for each reason."""
    return [{"count": len(one.nodes), "nodes": list(one.nodes), "why": one.why} for one in groups]


def _fields(remedy: Remedy) -> dict[str, Any]:
    if isinstance(remedy, Together | PodTogether):
        return {"node": remedy.node, "steps": remedies_value(remedy.steps)}
    found: dict[str, Any] = plain(remedy)
    if isinstance(remedy, EndClaims):
        del found["held"]
        found["claims"] = [
            {**plain(one.ref), "devices": [str(each.device) for each in one.results if not each.admin_access]}
            for one in remedy.held
        ]
    return found
