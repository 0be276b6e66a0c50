"""Everything of a kind at one moment, read page by page.

A selection enters, a listing leaves. The answer is always the newest state, never one from a cache that may
lag, so that a version which was seen once is never followed by an older one.
"""

from __future__ import annotations

import msgspec

from kube_api.answers import unreadable
from kube_api.caller import Caller
from kube_api.calls import Call, Selection
from kube_api.errors import Expired
from kube_api.objects import Listing, Object, Page, page_decoder, to_object

_WHOLE = 0


def list_all(caller: Caller, selection: Selection, page: int, attempts: int | None = None) -> Listing:
    """Read all pages; where the server forgot the list's version half-way, all of it at once.

    Raises: ApiError.
    """
    try:
        return _read(caller, selection, page, attempts)
    except Expired:
        # The pages took longer than the server keeps versions (five minutes): smaller steps would not help.
        return _read(caller, selection, _WHOLE, attempts)


def _read(caller: Caller, selection: Selection, page: int, attempts: int | None) -> Listing:
    items: list[Object] = []
    following = ""
    while True:
        call = selection.call("list", **{"limit": str(page or ""), "continue": following})
        found = _decode(call, caller.send(call, attempts))
        try:
            items += (to_object(document, selection.resource) for document in found.items or ())
        except msgspec.ValidationError as problem:
            raise unreadable(call, problem) from problem
        following = found.metadata.continue_
        if not following:
            return Listing(tuple(items), found.metadata.resource_version)


def _decode(call: Call, body: bytes) -> Page:
    try:
        return page_decoder.decode(body)
    except msgspec.DecodeError as problem:
        raise unreadable(call, problem) from problem
