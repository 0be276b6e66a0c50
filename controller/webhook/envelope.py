"""Reads the body of a request: a review of the admission API, or one sentence that says why it is none.

Takes bytes; returns a document. What the review asks is not looked at. Source: admission.k8s.io/v1.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
_SHOWN: Final = 100


class MalformedReview(Exception):
    """The body is no review that can be answered. The message is one sentence for who sent it."""


def read_review(body: bytes) -> dict[str, Any]:
    """Return the review that a body is. Raises: MalformedReview."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedReview(f"the body is not JSON: {error}") from error
    except RecursionError as error:
        raise MalformedReview("the body is nested too deeply") from error
    if not isinstance(document, dict):
        raise MalformedReview("the body must be a JSON object")
    for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if document.get(key) != wanted:
            raise MalformedReview(f"{key} must be {wanted}, not {_shown(document.get(key))}")
    request = document.get("request")
    if not isinstance(request, dict):
        raise MalformedReview(f"request must be an object, not {_shown(request)}")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise MalformedReview(f"request.uid must be a text that is not empty, not {_shown(uid)}")
    return document


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
