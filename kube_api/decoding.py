"""Reads what an API server sends: objects, pages of a list, lines of a watch.

Takes bytes; returns values. What is not as the API promises raises Malformed. One object of a page that
cannot be read spoils no other: it becomes an Unreadable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from kube_api.objects import Metadata, Object, Unreadable
from kube_api.parts import NO_JSON, elements, members
from kube_api.resources import Resource

_Value = TypeVar("_Value")
_NESTED: Final = "it is nested too deeply"
Reader = Callable[["bytes | msgspec.Raw", Resource], Object]
"""Reads one object of a kind. Raises: Malformed."""
_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion")


class Malformed(Exception):
    """Something that a server sent is not as the API promises."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, rename="camel"):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None  # an empty list of a custom resource may be null
    api_version: str | None = None
    kind: str | None = None


class _Frame(msgspec.Struct, rename="camel"):
    metadata: Metadata = Metadata()
    api_version: str | None = None
    kind: str | None = None


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


_pages: Final = msgspec.json.Decoder(_Page)
_frames: Final = msgspec.json.Decoder(_Frame)
_lines: Final = msgspec.json.Decoder(_Line)
msgspec.json.Decoder(Metadata)  # builds what ``convert`` needs while one thread is here: decision 0088
_list_metas: Final = msgspec.json.Decoder(_ListMeta)
_texts: Final = msgspec.json.Decoder(str)
_documents: Final = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. Shape: ``following`` is the token of the next page, empty on the last one."""

    items: Sequence[bytes | msgspec.Raw]
    resource_version: str
    following: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a watch: the type of the event, and its object as text."""

    type: str
    object: bytes | msgspec.Raw


def read_document(text: bytes | msgspec.Raw) -> dict[str, Any]:
    """Read any JSON object. Raises: Malformed."""
    return _decoded(_documents, text)


def read_object(text: bytes | msgspec.Raw, resource: Resource) -> Object:
    """Read one object of a kind. Raises: Malformed, also for another kind."""
    return to_object(read_document(text), resource)


def read_text(text: bytes | msgspec.Raw, resource: Resource) -> Object:
    """Read the metadata of one object of a kind; the rest stays text. Raises: Malformed, as ``read_object``.

    Shape: the document is empty.
    """
    frame = _decoded(_frames, text)
    check_kind(resource, frame.api_version, frame.kind)
    return Object(frame.metadata, {}, bytes(text))


def to_object(
    document: dict[str, Any], resource: Resource, *, is_any_kind: bool = False, text: bytes = b""
) -> Object:
    """Make an object of a document.

    The items of a list come without ``apiVersion`` and ``kind``. Both are added, so that an object can be
    written as it was read. Raises: Malformed, also for another kind unless ``is_any_kind``.
    """
    if not is_any_kind:
        check_kind(resource, document.get("apiVersion"), document.get("kind"))
    if "kind" not in document or "apiVersion" not in document:
        document = {"apiVersion": resource.api_version, "kind": resource.kind, **document}
    try:
        metadata = msgspec.convert(document.get("metadata", {}), Metadata)
    except msgspec.ValidationError as problem:
        raise Malformed(f"its metadata is wrong: {problem}") from problem
    return Object(metadata, document, text)


def check_kind(resource: Resource, api_version: object, kind: object, suffix: str = "") -> None:
    """Refuse a document that says that it is of another kind than asked for. Raises: Malformed."""
    wanted = f"{resource.api_version} {resource.kind}{suffix}"
    said = f"{api_version or resource.api_version} {kind or resource.kind + suffix}"
    if said != wanted:
        raise Malformed(f"it is {said}, not {wanted}")


def read_page(body: bytes, resource: Resource) -> Page:
    """Read a page of a list; its items stay text. Raises: Malformed, also for a list of another kind."""
    try:
        page = _decoded(_pages, body)
    except Malformed as problem:
        page = _page_of_parts(members(body), problem)
    check_kind(resource, page.api_version, page.kind, "List")
    return Page(page.items or (), page.metadata.resource_version, page.metadata.continue_)


def read_items(page: Page, resource: Resource, read: Reader = read_object) -> Iterator[Object | Unreadable]:
    """Read the objects of a page one by one, each of its own."""
    for text in page.items:
        try:
            yield read(text, resource)
        except Malformed as problem:
            yield unreadable(bytes(text), problem)


def read_line(text: bytes) -> Line:
    """Read a line of a watch; its object stays text. Raises: Malformed."""
    try:
        line = _decoded(_lines, text)
    except Malformed as problem:
        parts = members(text)
        if "type" not in parts or "object" not in parts:
            raise
        return Line(_part(parts, "type", _texts, problem), parts["object"])
    return Line(line.type, line.object)


def unreadable(text: bytes, problem: Malformed, *, is_gone: bool = False) -> Unreadable:
    """Return an object that cannot be read, with as much of its identity as can."""
    metadata = members(members(text).get("metadata", b""))
    identity = {}
    for field in _IDENTITY:
        try:
            identity[field] = _part(metadata, field, _texts, problem)
        except Malformed:
            continue
    return Unreadable(msgspec.convert(identity, Metadata), str(problem), is_gone)


def _page_of_parts(parts: Mapping[str, bytes], problem: Malformed) -> _Page:
    """Read a page of which something is nested too deeply to be read at once. Raises: ``problem``."""
    if not {"metadata", "items"} <= parts.keys():
        raise problem
    return _Page(
        metadata=_part(parts, "metadata", _list_metas, problem),
        items=[msgspec.Raw(one) for one in elements(parts["items"])],
        api_version=_part(parts, "apiVersion", _texts, problem) if "apiVersion" in parts else None,
        kind=_part(parts, "kind", _texts, problem) if "kind" in parts else None,
    )


def _part(
    parts: Mapping[str, bytes], key: str, wanted: msgspec.json.Decoder[_Value], problem: Malformed
) -> _Value:
    """Read one part alone. Raises: ``problem`` where it is missing or not as wanted."""
    try:
        return wanted.decode(parts.get(key, b""))
    except (*NO_JSON, RecursionError):
        raise problem from None


def _decoded(decoder: msgspec.json.Decoder[_Value], text: bytes | msgspec.Raw) -> _Value:
    try:
        return decoder.decode(text)
    except NO_JSON as problem:
        raise Malformed(str(problem)) from problem
    except RecursionError as problem:
        raise Malformed(_NESTED) from problem
