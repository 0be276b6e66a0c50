"""Turns the answers of an API server that are no success into errors.

Takes a status and a body; returns an error. Only this module knows HTTP codes. Source: meta/v1 Status; the
Kubernetes API conventions, "HTTP Status codes".
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from kube_api.calls import Call
from kube_api.decoding import Malformed
from kube_api.errors import (
    AlreadyExists,
    ApiError,
    BadReply,
    Cause,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    Unavailable,
)
from kube_api.parts import NO_JSON

_LONGEST_TEXT: Final = 300  # of an answer that is no Status, such as a proxy's page
_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    HTTPStatus.BAD_REQUEST: Invalid,
    HTTPStatus.UNAUTHORIZED: Forbidden,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Expired,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Invalid,
    HTTPStatus.UNPROCESSABLE_ENTITY: Invalid,
}


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: int = 0


class _Status(msgspec.Struct):
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


_STATUSES: Final = msgspec.json.Decoder(_Status)


def refused(call: Call, status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """Return the error for an answer that is no success."""
    try:
        said = _STATUSES.decode(body)
    except (*NO_JSON, RecursionError):
        said = _Status(message=body[:_LONGEST_TEXT].decode(errors="replace").strip())
    return _error(call, status, said, _seconds(retry_after))


def broken_off(call: Call, document: dict[str, Any]) -> ApiError:
    """Return the error for the Status object that ends a watch."""
    try:
        said = msgspec.convert(document, _Status)
    except msgspec.ValidationError as problem:
        said = _Status(message=f"the server sent an error that is no Status: {problem}")
    return _error(call, said.code or HTTPStatus.INTERNAL_SERVER_ERROR, said, None)


def not_as_promised(call: Call, problem: Malformed | str) -> BadReply:
    """Return the error for an answer that is not as the API promises."""
    text = f"the answer is not as the API promises: {problem}"
    return BadReply(call.attempted, call.resource, **call.about(message=text))


def _error(call: Call, status: int, said: _Status, retry_after_s: float | None) -> ApiError:
    details = said.details or _Details()
    about = call.about(
        status=status,
        reason=said.reason,
        message=said.message,
        causes=[Cause(one.reason, one.field, one.message) for one in details.causes or ()],
    )
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        wait_s = retry_after_s if retry_after_s is not None else details.retry_after_seconds or None
        return Unavailable(call.attempted, call.resource, retry_after_s=wait_s, **about)
    kind = AlreadyExists if said.reason == "AlreadyExists" else _BY_STATUS.get(status, ApiError)
    return kind(call.attempted, call.resource, **about)


def _seconds(retry_after: str | None) -> float | None:
    """Return the seconds of the header; API servers never use its other form, a date."""
    if retry_after is None or not retry_after.strip().isdecimal():
        return None
    return float(retry_after)
