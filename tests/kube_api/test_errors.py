"""A refusal is an error of ours that says what was attempted, on which object, why, and who acts."""

from __future__ import annotations

import pytest
from scripted_api import Reply, Script, status

from kube_api import (
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    AlreadyExists,
    ApiError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KubeApi,
    NotFound,
    PatchKind,
    Unavailable,
)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Forbidden),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (405, "MethodNotAllowed", ApiError),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Expired),
        (413, "RequestEntityTooLarge", Invalid),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", Unavailable),
        (500, "InternalError", Unavailable),
        (503, "ServiceUnavailable", Unavailable),
        (504, "Timeout", Unavailable),
    ],
)
def test_each_refusal_has_the_class_of_who_acts(
    api: KubeApi, server: Script, code: int, reason: str, kind: type[ApiError]
) -> None:
    server.answers(Reply(status(code, reason, "because"), code))

    with pytest.raises(ApiError) as caught:
        api.get(RESOURCE_CLAIMS, "train", "default")

    error = caught.value
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (code, reason, "because")
    assert str(error) == (
        f"cannot get ResourceClaim default/train: because ({code} {reason}); {error.remedy}"
    )


def test_a_refused_content_is_told_field_by_field(api: KubeApi, server: Script) -> None:
    causes = [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.pool.name"},
        {"reason": "FieldValueTooMany", "message": "must have at most 128 items", "field": "spec.devices"},
    ]
    server.answers(Reply(status(422, "Invalid", "it is all wrong", causes=causes), 422))

    with pytest.raises(Invalid) as caught:
        api.create(RESOURCE_SLICES, {"metadata": {"name": "a-1"}})

    assert [(cause.field, cause.reason) for cause in caught.value.causes] == [
        ("spec.pool.name", "FieldValueRequired"),
        ("spec.devices", "FieldValueTooMany"),
    ]
    assert str(caught.value) == (
        "cannot create ResourceSlice a-1: spec.pool.name: Required value; spec.devices: must have at most 128"
        " items (422 Invalid); correct what was sent"
    )


def test_a_kind_that_the_server_does_not_serve_is_told_apart_from_a_missing_object(
    api: KubeApi, server: Script
) -> None:
    server.answers(Reply(b"404 page not found\n", 404), Reply(status(404, "NotFound"), 404))

    with pytest.raises(NotFound) as kind:
        api.list(RESOURCE_SLICES)
    with pytest.raises(NotFound) as one:
        api.get(RESOURCE_SLICES, "a-1")

    assert kind.value.is_kind_missing
    assert not one.value.is_kind_missing


def test_an_error_of_a_subresource_names_it(api: KubeApi, server: Script) -> None:
    server.answers(Reply(status(403, "Forbidden", "no"), 403))

    with pytest.raises(Forbidden, match=r"^cannot apply status of ResourceClaim default/train: no"):
        api.patch(
            RESOURCE_CLAIMS,
            "train",
            {},
            "default",
            kind=PatchKind.APPLY,
            field_manager="plugin",
            subresource="status",
        )


@pytest.mark.parametrize(
    "body", [b"<html>please log in</html>", b'{"metadata": {"labels": 3}}', b"[]", b"{", b"\xff"]
)
def test_an_answer_that_is_no_object_is_an_error_and_no_crash(
    api: KubeApi, server: Script, body: bytes
) -> None:
    server.answers(Reply(body))

    with pytest.raises(
        ApiError, match="cannot get ResourceClaim default/train: the answer is not as the API promises"
    ):
        api.get(RESOURCE_CLAIMS, "train", "default")


@pytest.mark.parametrize("body", [b"<html>proxy</html>", b"[]", b'{"details": 3}', b"", b"\xff"])
def test_a_refusal_that_is_no_status_is_still_told(api: KubeApi, server: Script, body: bytes) -> None:
    server.answers(Reply(body, 403))

    with pytest.raises(Forbidden, match="cannot get ResourceClaim default/train"):
        api.get(RESOURCE_CLAIMS, "train", "default")


def test_a_redirection_is_not_followed_with_our_credentials(api: KubeApi, server: Script) -> None:
    server.answers(Reply(b"moved", 307, {"Location": "/elsewhere"}))

    with pytest.raises(ApiError, match="307"):
        api.get(RESOURCE_CLAIMS, "train", "default")

    assert len(server.requests) == 1
