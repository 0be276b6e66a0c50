"""One document at a time, asked for and read.

A call enters and is made, what the server answers leaves as a document or an object; an answer that is none
is one of our errors. What is asked is decided above.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kube_api.answers import unreadable
from kube_api.caller import Caller
from kube_api.calls import Call
from kube_api.objects import Object, document_decoder, to_object


def ask_document(caller: Caller, call: Call) -> dict[str, Any]:
    """Make a call and return its answer's document. Raises: ApiError."""
    body = caller.send(call)
    try:
        return document_decoder.decode(body)
    except msgspec.DecodeError as problem:
        raise unreadable(call, problem) from problem


def ask_object(caller: Caller, call: Call) -> Object:
    """Make a call about a kind and return the object that its answer is. Raises: ApiError."""
    assert call.resource is not None
    document = ask_document(caller, call)
    try:
        return to_object(document, call.resource)
    except msgspec.ValidationError as problem:
        raise unreadable(call, problem) from problem
