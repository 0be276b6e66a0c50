"""Asks for one document or object and reads the answer.

Makes calls and returns what the server answers, as documents or objects. What to ask is decided
by the caller.
"""

from __future__ import annotations

from typing import Any

from kube_api.answers import not_as_promised
from kube_api.caller import Caller
from kube_api.calls import Call
from kube_api.decoding import Malformed, read_document, to_object
from kube_api.objects import Object


def ask_document(caller: Caller, call: Call) -> dict[str, Any]:
    """Make a call and return its answer's document. Raises: ApiError."""
    return _document(call, caller.send(call))


def ask_stored(caller: Caller, call: Call) -> Object:
    """Make a call that reads an object and return it, with the text of the answer. Raises: ApiError."""
    assert call.resource is not None
    body = caller.send(call)
    try:
        return to_object(read_document(body), call.resource, text=body)
    except Malformed as problem:
        raise not_as_promised(call, problem) from problem


def _document(call: Call, body: bytes) -> dict[str, Any]:
    try:
        return read_document(body)
    except Malformed as problem:
        raise not_as_promised(call, problem) from problem


def ask_object(caller: Caller, call: Call) -> Object:
    """Make a call about a kind and return the object that its answer is. Raises: ApiError."""
    return _object(call, ask_document(caller, call))


def ask_deletion(caller: Caller, call: Call) -> Object | None:
    """Make a call that deletes; return the object if it still exists, else None. Raises: ApiError."""
    document = ask_document(caller, call)
    if document.get("kind") == "Status" or "metadata" not in document:
        return None
    found = _object(call, document)
    return found if found.metadata.deletion_timestamp is not None else None


def _object(call: Call, document: dict[str, Any]) -> Object:
    assert call.resource is not None
    try:
        return to_object(document, call.resource, is_any_kind=call.is_any_kind)
    except Malformed as problem:
        raise not_as_promised(call, problem) from problem
