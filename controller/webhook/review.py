"""Answers reviews of pods: an AdmissionReview (admission.k8s.io/v1) in, the same object with an answer out.

Nothing is read or written but the two objects, so a dry run gets the same answer.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.frontends.admission.changes import Admission, admission_of
from scheduler_core.frontends.annotations.errors import InvalidPod

_API_VERSION: Final = "admission.k8s.io/v1"
_KIND: Final = "AdmissionReview"
_UNPROCESSABLE: Final = 422
_WARNING: Final = 256  # characters; API servers cut longer ones


class InvalidReview(Exception):
    """A document that is no review: the caller answers with the HTTP status 400 and this sentence."""


def review(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the review with its answer: the pod as it is, changed, or refused with one sentence.

    Shape: objects that are no new pods are allowed as they are.
    Raises: InvalidReview.
    """
    request = _request(document)
    response = {"uid": request["uid"], **_answer(request)}
    return {"apiVersion": _API_VERSION, "kind": _KIND, "response": response}


def _request(document: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise InvalidReview("the review must be a JSON object")
    for key, wanted in (("apiVersion", _API_VERSION), ("kind", _KIND)):
        if document.get(key) != wanted:
            raise InvalidReview(f"the review's {key} must be {wanted}, not {document.get(key)!r}")
    request = document.get("request")
    if not isinstance(request, Mapping):
        raise InvalidReview("the review has no request")
    if not isinstance(request.get("uid"), str) or not request["uid"]:
        raise InvalidReview("the review's request.uid must be a string that is not empty")
    return request


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer without its uid."""
    kind, pod = request.get("kind"), request.get("object")
    is_pod = isinstance(kind, Mapping) and (kind.get("group") or "", kind.get("kind")) == ("", "Pod")
    is_new = request.get("operation") == "CREATE" and not request.get("subResource")
    if not is_pod or not is_new or not isinstance(pod, Mapping):
        return {"allowed": True}
    try:
        admission = admission_of(pod, str(request.get("namespace") or "default"), request["uid"])
    except InvalidPod as error:
        return {"allowed": False, "status": {"code": _UNPROCESSABLE, "message": str(error)}}
    return {"allowed": True, **_patched(admission)}


def _patched(admission: Admission) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if admission.fields:
        patch = json.dumps(admission.patch()).encode()
        found |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    if admission.warnings:
        found["warnings"] = [text[:_WARNING] for text in admission.warnings]
    return found
