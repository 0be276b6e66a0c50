"""Asks an API server who a token belongs to, and what its owner may read.

Source: authentication.k8s.io/v1 TokenReview, authorization.k8s.io/v1 SubjectAccessReview.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kube_api.api import KubeApi
from kube_api.resources import Resource

_TOKENS: Final = Resource.of("authentication.k8s.io/v1", "TokenReview", "tokenreviews")
_ACCESS: Final = Resource.of("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews")
_USER_FIELDS: Final = {"username": "user", "uid": "uid", "groups": "groups", "extra": "extra"}


def is_allowed(api: KubeApi, token: str, path: str) -> bool | None:
    """Whether a token's owner may get a path that is no resource; None where the server knows no owner.

    Raises: ApiError.
    """
    user = user_of(api, token)
    return None if user is None else may_get(api, user, path)


def user_of(api: KubeApi, token: str) -> Mapping[str, Any] | None:
    """Return who a token belongs to, None where the server does not know it. Raises: ApiError."""
    status = api.create(_TOKENS, {"metadata": {}, "spec": {"token": token}}).document.get("status") or {}
    return (status.get("user") or {}) if status.get("authenticated") is True else None


def may_get(api: KubeApi, user: Mapping[str, Any], path: str) -> bool:
    """Whether a user may get a path that is no resource, such as ``/metrics``. Raises: ApiError."""
    who = {wanted: user[given] for given, wanted in _USER_FIELDS.items() if user.get(given)}
    spec = {**who, "nonResourceAttributes": {"path": path, "verb": "get"}}
    status = api.create(_ACCESS, {"metadata": {}, "spec": spec}).document.get("status") or {}
    return status.get("allowed") is True
