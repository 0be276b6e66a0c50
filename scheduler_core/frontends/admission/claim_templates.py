"""Claim templates of a pod that waits for the controller become claims that the controller makes.

The annotation that says which is written here, and read here.

The claim controller makes ten claims a second at most; the controller makes them together with its
allocations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.admission.names import claim_name
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.annotations.reading import annotation
from scheduler_core.model.ownership import TEMPLATES


def templates_in_annotation(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """Return from which templates claims of a pod are made, by the name of the claim.

    Shape: empty without the annotation.
    Raises: InvalidPod.
    """
    fields = Fields(obj, subject_of(obj, "Pod"), "", InvalidPod)
    annotations = fields.optional("metadata").optional("annotations")
    if not annotations.has(TEMPLATES):
        return {}
    prefix, _, name = TEMPLATES.rpartition("/")
    found = annotation(fields.subject, name, annotations.text(TEMPLATES), InvalidPod, f"{prefix}/")
    return {claim: found.text(claim) for claim in found.values}


def with_claims_for_templates(
    spec: Fields,
    annotations: Fields,
    changed: Mapping[str, Any],
    metadata: Mapping[str, Any],
    request_uid: str,
) -> dict[str, Any]:
    """Return the fields in which claims take the place of templates; nothing where no template is named.

    Shape: by JSON pointer; ``changed`` are fields that change anyway.
    """
    entries = changed.get("/spec/resourceClaims", spec.items("resourceClaims"))
    templates: dict[str, str] = {}
    found = []
    for one in entries:
        entry = Fields(one, spec.subject, "spec.resourceClaims[]", spec.error)
        template = entry.text("resourceClaimTemplateName", "")
        if not template:
            found.append(one)
            continue
        name = claim_name(metadata, request_uid, entry.text("name"))
        templates[name] = template
        found.append({"name": entry.text("name"), "resourceClaimName": name})
    if not templates:
        return {}
    known = json.loads(annotations.text(TEMPLATES)) if annotations.has(TEMPLATES) else {}
    before = changed.get("/metadata/annotations", annotations.values)
    written = json.dumps({**known, **templates}, sort_keys=True)
    return {"/metadata/annotations": {**before, TEMPLATES: written}, "/spec/resourceClaims": found}
