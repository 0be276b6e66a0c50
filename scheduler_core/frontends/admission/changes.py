"""What admission changes in a pod: amounts of devices become a claim, and claim templates become claims.

Takes a pod as it is created; returns the fields that change, or refuses the pod. A pod that was changed
already stays as it is, because API servers may ask a webhook again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.admission.asked_pod import AskedPod, asked_in_containers, is_amount, is_marked
from scheduler_core.frontends.admission.claim_templates import with_claims_for_templates
from scheduler_core.frontends.admission.marked_before import check_marked_before, is_gated, is_marked_before
from scheduler_core.frontends.admission.names import claim_name, free_entry
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.model.ownership import AMOUNTS, CLAIM, GATE

_MIRROR: Final = "kubernetes.io/config.mirror"
_LISTS: Final = ("initContainers", "containers")


@dataclass(frozen=True, slots=True)
class Admission:
    """What becomes of a pod. Shape: ``fields`` are new values by JSON pointer, empty for no change."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def patch(self) -> list[dict[str, Any]]:
        """Return the changes as a JSON patch. An ``add`` replaces a field that is there."""
        return [{"op": "add", "path": path, "value": value} for path, value in self.fields.items()]


def admission_of(pod: Mapping[str, Any], namespace: str, request_uid: str) -> Admission:
    """Return what changes in a pod that is created. ``request_uid`` names the request that creates it.

    Raises: InvalidPod for amounts or annotations that no controller could serve.
    """
    subject = _subject(pod, namespace)
    fields = Fields(pod, subject, "", InvalidPod)
    metadata, spec = fields.optional("metadata"), fields.child("spec")
    annotations = metadata.optional("annotations")
    if annotations.has(_MIRROR):
        return Admission()  # a copy of a pod that a kubelet runs from a file; nobody may change it
    asked = asked_in_containers(pod, subject)
    if is_marked_before(annotations):
        check_marked_before(fields, asked)
    changes: dict[str, Any] = {}
    if asked is not None:
        changes |= _with_claim(fields, asked, metadata.values, request_uid)
    if "/spec/schedulingGates" in changes or is_gated(spec):
        changes |= with_claims_for_templates(spec, annotations, changes, metadata.values, request_uid)
    warnings = asked.ask.warnings if asked is not None and asked.ask is not None else ()
    return Admission(changes, warnings)


def _subject(pod: Mapping[str, Any], namespace: str) -> str:
    """Return the pod's kind and name; the API server adds the namespace and a name later."""
    metadata = pod.get("metadata")
    given = dict(metadata) if isinstance(metadata, Mapping) else {}
    name = given.get("name") or f"{given.get('generateName') or ''}*"
    return subject_of({"metadata": {"name": name, "namespace": given.get("namespace") or namespace}}, "Pod")


def _with_claim(
    pod: Fields, asked: AskedPod, metadata: Mapping[str, Any], request_uid: str
) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a pod whose amounts become a claim."""
    spec = pod.child("spec")
    if spec.text("nodeName", ""):
        rule = "must be absent: the devices are chosen first; use a node selector or an affinity"
        raise spec.refuse("nodeName", f"{rule}, or ask for no {_first(asked)}", spec.values["nodeName"])
    entry = free_entry(frozenset(one.text("name") for one in spec.children("resourceClaims")))
    name = claim_name(metadata, request_uid, entry)
    written = json.dumps({key: str(amount) for key, amount in asked.amounts.items()}, sort_keys=True)
    yield "/metadata/annotations", {**(metadata.get("annotations") or {}), AMOUNTS: written, CLAIM: name}
    yield (
        "/spec/resourceClaims",
        [*spec.items("resourceClaims"), {"name": entry, "resourceClaimName": name}],
    )
    if not is_gated(spec):
        yield "/spec/schedulingGates", [*spec.items("schedulingGates"), {"name": GATE}]
    yield from _resources(spec, entry, marked=is_marked(pod.values))


def _first(asked: AskedPod) -> str:
    return next(iter(asked.amounts))


def _resources(spec: Fields, entry: str, *, marked: bool) -> Iterator[tuple[str, Any]]:
    """Yield the resources of the containers with amounts: without these, and with the claim."""
    for listed in _LISTS:
        for index, container in enumerate(spec.children(listed)):
            resources = container.optional("resources")
            parts = {part: resources.optional(part).values for part in ("requests", "limits")}
            taken = [
                value
                for part in parts.values()
                for name, value in part.items()
                if is_amount(name, is_marked=marked)
            ]
            if not taken:
                continue
            left = {part: _without(values, marked=marked) for part, values in parts.items() if values}
            claims = resources.items("claims")
            if any(Quantity.parse(str(value)).nano for value in taken):
                claims = [*claims, {"name": entry}]
            changed = {**resources.values, **left} | ({"claims": list(claims)} if claims else {})
            yield f"/spec/{listed}/{index}/resources", changed


def _without(values: Mapping[str, Any], *, marked: bool) -> dict[str, Any]:
    return {name: value for name, value in values.items() if not is_amount(name, is_marked=marked)}
