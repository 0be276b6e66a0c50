"""Reads all objects of a kind at one moment, page by page.

Takes a selection; returns a listing. The server is asked for its newest state, never for a cached one that
may be old, so a version that was seen once is never followed by an older one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kube_api.answers import not_as_promised
from kube_api.caller import Caller
from kube_api.calls import Call, Selection
from kube_api.decoding import Malformed, Page, Reader, read_items, read_object, read_page
from kube_api.errors import Expired
from kube_api.objects import Listing, Object, Unreadable

T = TypeVar("T")
_WHOLE = 0


def list_all(
    caller: Caller,
    selection: Selection,
    page: int,
    keep: Callable[[Object], T],
    *,
    attempts: int | None = None,
    read: Reader = read_object,
) -> Listing[T]:
    """Read all pages; where the server forgot the list's version half-way, read the list in one piece.

    Shape:  ``keep`` says what to keep of an object; the rest of it is dropped before the next one is read;
            ``read`` reads it.
    Raises: ApiError; BadReply for a continue token that comes twice.
    """
    try:
        return _read(caller, selection, page, keep, attempts=attempts, read=read)
    except Expired:
        # The pages took longer than the server keeps versions (five minutes): smaller pages would not help.
        return _read(caller, selection, _WHOLE, keep, attempts=attempts, read=read)


def _read(
    caller: Caller,
    selection: Selection,
    page: int,
    keep: Callable[[Object], T],
    *,
    attempts: int | None,
    read: Reader,
) -> Listing[T]:
    items: list[T] = []
    unreadable: list[Unreadable] = []
    following, seen = "", {""}
    while True:
        call = selection.call("list", **{"limit": str(page or ""), "continue": following})
        version, following = _read_page(caller, call, keep, items, unreadable, attempts=attempts, read=read)
        if not following:
            return Listing(tuple(items), version, tuple(unreadable))
        if following in seen:
            raise not_as_promised(call, "it repeats an earlier continue token, so the list would never end")
        seen.add(following)


def _read_page(
    caller: Caller,
    call: Call,
    keep: Callable[[Object], T],
    items: list[T],
    unreadable: list[Unreadable],
    *,
    attempts: int | None,
    read: Reader,
) -> tuple[str, str]:
    """Add what a page has; return its version and the token of the next one.

    The page is let go at the end, so that there is never more than one.
    """
    assert call.resource is not None
    found = _decoded(call, caller.send(call, attempts))
    for one in read_items(found, call.resource, read):
        if isinstance(one, Unreadable):
            unreadable.append(one)
        else:
            items.append(keep(one))
    return found.resource_version, found.following


def _decoded(call: Call, body: bytes) -> Page:
    assert call.resource is not None
    try:
        return read_page(body, call.resource)
    except Malformed as problem:
        raise not_as_promised(call, problem) from problem
