"""The documents that are written: claims with their finalizer, allocation and consumers; changes of pods.

Takes documents and values; returns new documents. Source: resource.k8s.io/v1 ResourceClaim; KEP-3521.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Final

from controller.model.claims import FINALIZER
from controller.model.pods import Pod
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.ownership import CONDITION, GATE

Document = Mapping[str, Any]
REASON: Final = "DevicesNotAvailable"
"""The reason of our condition and of events, where a pod waits."""


def new_claim(ref: ClaimRef, template: Document, pod: Pod) -> Document:
    """Return the claim that is made from the ``spec`` of a template for a pod, which owns it."""
    metadata = template.get("metadata") or {}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.ref.name, "uid": pod.uid, "controller": True}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "namespace": ref.namespace,
            "name": ref.name,
            **{key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)},
            "finalizers": [FINALIZER],
            "ownerReferences": [owner],
        },
        "spec": template.get("spec") or {},
    }


def with_finalizer(claim: Document) -> Document | None:
    """Return the claim with the finalizer that allocated claims have, None where it has it."""
    metadata = claim["metadata"]
    present = metadata.get("finalizers") or []
    if FINALIZER in present:
        return None
    return {**claim, "metadata": {**metadata, "finalizers": [*present, FINALIZER]}}


def allocated(claim: Document, allocation: Document, pod: Pod, at: str) -> Document:
    """Return the claim with an allocation, reserved for a pod. Units: ``at`` is a UTC time as RFC 3339."""
    status = claim.get("status") or {}
    consumer = {"resource": "pods", "name": pod.ref.name, "uid": pod.uid}
    consumers = [one for one in status.get("reservedFor") or () if one.get("uid") != pod.uid]
    given = {**allocation, "allocationTimestamp": at}
    return {**claim, "status": {**status, "allocation": given, "reservedFor": [*consumers, consumer]}}


def released(claim: Document, gone: Set[str]) -> Document | None:
    """Return the claim without allocation, None where it has none or is used by somebody else."""
    status = claim.get("status") or {}
    if not status.get("allocation"):
        return None
    if any(one.get("uid") not in gone for one in status.get("reservedFor") or ()):
        return None
    kept = {
        key: value for key, value in status.items() if key not in ("allocation", "reservedFor", "devices")
    }
    return {**claim, "status": kept}


def without_finalizer(claim: Document) -> Document | None:
    """Return a claim without our finalizer, None where it has none."""
    metadata = claim["metadata"]
    present = metadata.get("finalizers") or []
    if FINALIZER not in present:
        return None
    left = [one for one in present if one != FINALIZER]
    return {**claim, "metadata": {**metadata, "finalizers": left}}


def without_gate(uid: str) -> list[Document]:
    """Return the JSON patch that removes our gate from a pod, if it is this pod and its only gate."""
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": "/spec/schedulingGates", "value": [{"name": GATE}]},
        {"op": "remove", "path": "/spec/schedulingGates"},
    ]


def condition(uid: str, message: str | None, at: str) -> Document:
    """Return the patch of a pod's status that sets our condition: True without a message, else False."""
    found = {
        "type": CONDITION,
        "status": "True" if message is None else "False",
        "reason": "Allocated" if message is None else REASON,
        "message": message or "",
        "lastTransitionTime": at,
    }
    return {"metadata": {"uid": uid}, "status": {"conditions": [found]}}
