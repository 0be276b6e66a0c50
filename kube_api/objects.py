"""What an API server stores, as small values.

JSON enters, objects leave. Only the metadata is typed; the rest stays the document that the server sent,
whole, with fields that this program does not know. Nothing here asks a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kube_api.resources import Resource


class OwnerReference(msgspec.Struct, frozen=True, rename="camel"):
    """Who owns an object: it is deleted with its owner."""

    api_version: str
    kind: str
    name: str
    uid: str


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """What every object has.

    Shape: ``namespace`` is empty for kinds without one; ``deletion_timestamp`` is None as long as nobody
           asked for deletion.
    """

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    deletion_timestamp: str | None = None

    @property
    def owner_uids(self) -> tuple[str, ...]:
        """Return the UIDs of the owners, in the order of the object."""
        return tuple(owner.uid for owner in self.owner_references)


@dataclass(frozen=True, slots=True)
class Object:
    """One stored object. ``document`` is the whole JSON, ``apiVersion`` and ``kind`` always in it."""

    metadata: Metadata
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a kind at one moment, in the server's order."""

    items: tuple[Object, ...]
    resource_version: str


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Where a page of a list stands; ``continue_`` is empty on the last one."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, frozen=True):
    """One page of a list as it travels."""

    metadata: ListMeta
    items: list[dict[str, Any]] | None = None  # an empty list of a custom resource may be null


class WatchLine(msgspec.Struct, frozen=True):
    """One line of a watch as it travels."""

    type: str
    object: dict[str, Any]


page_decoder = msgspec.json.Decoder(Page)
line_decoder = msgspec.json.Decoder(WatchLine)
document_decoder = msgspec.json.Decoder(dict[str, Any])


def to_body(document: Mapping[str, Any], resource: Resource) -> bytes:
    """Encode a document for the server, its kind completed."""
    return msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind, **document})


def on_top_of(found: Object, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``wanted`` as a change of exactly what was read: the server refuses it if that is gone."""
    read = {"name": found.metadata.name, "namespace": found.metadata.namespace, "uid": found.metadata.uid}
    identity = {key: value for key, value in read.items() if value}
    version = {"resourceVersion": found.metadata.resource_version}
    return {**wanted, "metadata": {**wanted.get("metadata", {}), **identity, **version}}


def to_object(document: dict[str, Any], resource: Resource) -> Object:
    """Make a value of what the server sent.

    The items of a list come without ``apiVersion`` and ``kind``; they are put back, so that an object can be
    written as it was read. Raises: msgspec.ValidationError if the metadata is not as the API has it.
    """
    if "kind" not in document:
        document = {"apiVersion": resource.api_version, "kind": resource.kind, **document}
    return Object(msgspec.convert(document.get("metadata", {}), Metadata), document)
