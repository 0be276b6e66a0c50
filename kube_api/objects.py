"""What an API server stores, as values.

Only the metadata is typed. The rest stays the document that the server sent, whole, with fields that this
program does not know. Nothing here reads JSON or asks a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from kube_api.resources import Resource

T = TypeVar("T")


class OwnerReference(msgspec.Struct, frozen=True, rename="camel"):
    """The owner of an object: the object is deleted with it."""

    api_version: str
    kind: str
    name: str
    uid: str


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The fields that every object has.

    Shape: ``namespace`` is empty for kinds without one; ``deletion_timestamp`` is None until somebody asks
           for deletion.
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
    """One stored object.

    Shape: ``document`` is the whole JSON, always with ``apiVersion`` and ``kind``, empty where only the text
           was asked for; ``text`` is what the server sent for this object alone, else empty.
    """

    metadata: Metadata
    document: Mapping[str, Any]
    text: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that the server has and this program cannot read.

    Shape: ``metadata`` has what could be read of name, namespace, UID and version, the rest is empty;
           ``is_gone`` says that the object was deleted, and its last state cannot be read.
    """

    metadata: Metadata
    problem: str
    is_gone: bool = False

    def __str__(self) -> str:
        place = f"{self.metadata.namespace}/{self.metadata.name}".lstrip("/")
        return f"{place or 'an object without a readable name'} cannot be read: {self.problem}"


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """All objects of a kind at one moment, in the server's order."""

    items: tuple[T, ...]
    resource_version: str
    unreadable: tuple[Unreadable, ...] = ()


def to_body(document: Mapping[str, Any], resource: Resource) -> bytes:
    """Encode a document for the server; ``apiVersion`` and ``kind`` are added where they are missing."""
    return msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind, **document})


def on_top_of(found: Object, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``wanted`` as a change of exactly the object that was read.

    The server refuses it once that object has changed or is gone.
    """
    read = {"name": found.metadata.name, "namespace": found.metadata.namespace, "uid": found.metadata.uid}
    identity = {key: value for key, value in read.items() if value}
    version = {"resourceVersion": found.metadata.resource_version}
    return {**wanted, "metadata": {**wanted.get("metadata", {}), **identity, **version}}
