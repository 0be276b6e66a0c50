"""API objects as they were read, each with the place it came from, so that errors can name the place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from scheduler_core.base.errors import CoreError, InvalidInput
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import composite
from scheduler_core.model.nodes import Node

_COMPOSITE_FIELDS: Final = ("deviceMixins", "nodeSelectionDelegated")
_Decoded = TypeVar("_Decoded")


@dataclass(frozen=True, slots=True)
class Document:
    """One API object. Shape: ``place`` where it was read: ``file``, ``file:line`` or ``cluster: name``."""

    place: str
    content: Mapping[str, Any]


class InvalidDocument(CoreError):
    """A document that its author must correct. Shape: ``reason`` names object, field and rule."""

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{place}: {reason}")


class InvalidNodeObject(InvalidInput):
    """A Node whose name or labels cannot be read."""


def decoded(document: Document, decode: Callable[[Mapping[str, Any]], _Decoded]) -> _Decoded:
    """Return what a decoder reads of a document. Raises: InvalidDocument for what the decoder refuses."""
    try:
        return decode(document.content)
    except CoreError as error:
        raise InvalidDocument(document.place, str(error)) from error


def is_composite_slice(content: Mapping[str, Any]) -> bool:
    """Whether a slice is written in the composite dialect, whatever its kind says.

    KEP-4815 prints its slices as ``ResourceSlice``; they are known by the fields that v1 does not have.
    """
    spec = content.get("spec")
    if content.get("kind") == composite.KIND:
        return True
    if not isinstance(spec, Mapping):
        return False
    devices = spec.get("devices")
    listed = devices if isinstance(devices, list) else []
    has_composite = any(isinstance(device, Mapping) and "composite" in device for device in listed)
    return has_composite or any(key in spec for key in _COMPOSITE_FIELDS)


def decode_node(obj: Mapping[str, Any]) -> Node:
    """Read the name, the labels and the declared features of a Node. Raises: InvalidNodeObject."""
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    labels = (metadata.get("labels") if isinstance(metadata, Mapping) else None) or {}
    if not isinstance(name, str) or not name:
        raise InvalidNodeObject("Node", "metadata.name", name, "must be a string")
    if not isinstance(labels, Mapping) or not all(isinstance(value, str) for value in labels.values()):
        raise InvalidNodeObject(f"Node {name}", "metadata.labels", labels, "must map strings to strings")
    status = obj.get("status")
    declared = status.get("declaredFeatures") if isinstance(status, Mapping) else None
    return Node(name, labels, frozenset(declared) if isinstance(declared, list) else frozenset())
