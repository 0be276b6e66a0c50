"""PURE: what a log line about a plan names: pod, node, claim, requests and devices, as fields beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.classes.turns import StatusWrite
from controller.plan.plans import GroupPlacement, LetGo, Placement, Plan, Release, Tell
from scheduler_core.model.claim import ClaimRef


def of_plan(plan: Plan) -> dict[str, str]:
    """Return the fields of a plan. Shape: by name; the pods of a group are separated by commas."""
    match plan:
        case Placement(pod=pod, node=node):
            return {"namespace": pod.ref.namespace, "pod": pod.ref.name, "node": node}
        case GroupPlacement(members=members):
            pods = ",".join(member.pod.ref.name for member in members)
            return {"namespace": members[0].pod.ref.namespace, "pod": pods}
        case Release(claim=claim, uid=uid):
            return {"namespace": claim.namespace, "claim": claim.name, "uid": uid}
        case Tell(pod=ref) | LetGo(pod=ref):
            return {"namespace": ref.namespace, "pod": ref.name}
        case StatusWrite():
            return {}


def of_allocation(ref: ClaimRef, uid: str, allocation: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a claim that was given devices."""
    results = allocation["devices"]["results"]
    return {
        "namespace": ref.namespace,
        "claim": ref.name,
        "uid": uid,
        "request": ",".join(dict.fromkeys(one["request"] for one in results)),
        "device": ",".join(one["device"] for one in results),
    }
