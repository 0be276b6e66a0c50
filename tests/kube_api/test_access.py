"""Who a token belongs to and what its owner may read, as the API server says it."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_api import Reply, Script

from kube_api import KubeApi, is_allowed

USER = {"username": "system:serviceaccount:m:prometheus", "uid": "u", "groups": ["g"], "extra": {"k": ["v"]}}


def reply(**status: Any) -> Reply:
    return Reply({"metadata": {"creationTimestamp": None}, "status": status}, 201)


def test_the_owner_of_a_token_is_asked_for_and_then_what_that_owner_may(api: KubeApi, server: Script) -> None:
    server.answers(reply(authenticated=True, user=USER), reply(allowed=True))

    assert is_allowed(api, "secret", "/metrics") is True

    assert server.said == [
        "POST /apis/authentication.k8s.io/v1/tokenreviews",
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
    ]
    assert server.requests[0].body["spec"] == {"token": "secret"}
    assert server.requests[1].body["spec"] == {
        "user": USER["username"],
        "uid": "u",
        "groups": ["g"],
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


@pytest.mark.parametrize("status", [{}, {"authenticated": False}, {"error": "token expired"}, {"user": USER}])
def test_a_token_that_the_server_does_not_vouch_for_has_no_owner(
    api: KubeApi, server: Script, status: dict[str, Any]
) -> None:
    server.answers(reply(**status))

    assert is_allowed(api, "secret", "/metrics") is None


@pytest.mark.parametrize("status", [{}, {"allowed": False}, {"denied": True}, {"allowed": "yes"}])
def test_what_is_not_plainly_allowed_is_not_allowed(
    api: KubeApi, server: Script, status: dict[str, Any]
) -> None:
    server.answers(reply(authenticated=True, user=USER), reply(**status))

    assert is_allowed(api, "secret", "/metrics") is False
