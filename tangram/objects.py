"""Documents to what the core works on: pools, classes, claims, nodes.

Which object a document is, its ``kind`` says; which dialect a slice is in, its fields say. An error of
the core is passed on with the file and line in front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from scheduler_core.base.errors import CoreError, message
from scheduler_core.codec import composite, v1
from scheduler_core.codec.claims import decode_allocated_claim, decode_claim, decode_class
from scheduler_core.codec.fields import subject_of
from scheduler_core.dialects.mixins import pools as composite_pools
from scheduler_core.frontends.pods import device_object
from scheduler_core.frontends.pods.allocated import held_by
from scheduler_core.frontends.pods.device_object import DeviceObject, decode_device
from scheduler_core.model.claim import AllocatedClaim, Claim, DeviceClass
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from tangram.documents import Document
from tangram.errors import BadInput

KINDS: Final = (
    "ResourceSlice",
    composite.KIND,
    "DeviceClass",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "Node",
    device_object.KIND,
    "Pod",
)
_DRA: Final = tuple(f"resource.k8s.io/{version}" for version in ("v1", "v1beta2", "v1beta1", "v1alpha3"))
_VERSIONS: Final = {
    "ResourceSlice": _DRA,
    composite.KIND: (composite.API_VERSION,),
    "DeviceClass": _DRA,
    "ResourceClaim": _DRA,
    "ResourceClaimTemplate": _DRA,
    "Node": ("v1",),
    device_object.KIND: (device_object.API_VERSION,),
    "Pod": ("v1",),
}
_COMPOSITE_FIELDS: Final = ("deviceMixins", "nodeSelectionDelegated")
_Decoded = TypeVar("_Decoded")


@dataclass(slots=True)
class Objects:
    """What a set of files describes. Shape: each list in the order of the files."""

    composite_slices: list[CompositeSlice] = field(default_factory=list)
    v1_slices: list[v1.V1Slice] = field(default_factory=list)
    classes: dict[str, DeviceClass] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    allocated: list[AllocatedClaim] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    reported: list[DeviceObject] = field(default_factory=list)
    pods: list[Document] = field(default_factory=list)

    def pools(self) -> tuple[Pool, ...]:
        """Return the pools that the slices form, of both dialects, and what Koordinator reports."""
        slices = (*composite_pools(self.composite_slices), *v1.pools(self.v1_slices))
        return (*slices, *(one.pool for one in self.reported))

    def held(self, pools: Sequence[Pool]) -> tuple[AllocatedClaim, ...]:
        """Return what claims and running pods hold of the pools. Raises: BadInput for a bad annotation."""
        held = (_decoded(one, lambda content: held_by(content, pools)) for one in self.pods)
        return (*self.allocated, *(one for one in held if one is not None))


def read_objects(documents: Iterable[Document]) -> Objects:
    """Decode every document. Raises: BadInput naming file, object, field, value and rule."""
    objects = Objects()
    places: dict[str, str] = {}
    for document in documents:
        _read(document, objects)
        name = subject_of(document.content, str(document.content["kind"]))
        if _is_named(document) and places.setdefault(name, document.place) != document.place:
            raise BadInput(f"{document.place}: {name}: is given twice, first at {places[name]}")
    return objects


def _is_named(document: Document) -> bool:
    """Whether the object has a name; KEP-4815 prints slices without."""
    metadata = document.content.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("name"))


def _read(document: Document, objects: Objects) -> None:
    content = document.content
    _check_version(document)
    match content.get("kind"):
        case "ResourceSlice" | composite.KIND if _is_composite(content):
            objects.composite_slices.append(_decoded(document, composite.decode_slice))
        case "ResourceSlice":
            objects.v1_slices.append(_decoded(document, v1.decode_slice))
        case "DeviceClass":
            found = _decoded(document, decode_class)
            objects.classes[found.name] = found
        case "ResourceClaim" | "ResourceClaimTemplate":
            held = _decoded(document, decode_allocated_claim)
            if held is None:
                objects.claims.append(_decoded(document, decode_claim))
            else:
                objects.allocated.append(held)
        case "Node":
            objects.nodes.append(_node(document))
        case "Pod":
            objects.pods.append(document)
        case device_object.KIND:
            objects.reported.append(_decoded(document, decode_device))
        case kind:
            raise BadInput(message(document.place, "kind", kind, f"must be one of {', '.join(KINDS)}"))


def _check_version(document: Document) -> None:
    """Refuse a version that nobody here reads: its fields may mean something else. None given is fine."""
    kind, version = document.content.get("kind"), document.content.get("apiVersion")
    known = _VERSIONS.get(str(kind), ())
    if known and version is not None and version not in known:
        rule = f"must be one of {', '.join(known)}"
        raise BadInput(message(f"{document.place}: {kind}", "apiVersion", version, rule))


def _decoded(document: Document, decode: Callable[[Mapping[str, Any]], _Decoded]) -> _Decoded:
    try:
        return decode(document.content)
    except CoreError as error:
        raise BadInput(f"{document.place}: {error}") from error


def _is_composite(content: Mapping[str, Any]) -> bool:
    """Whether a slice is written in the composite dialect, whatever kind it calls itself.

    KEP-4815 prints its slices as ``ResourceSlice``; what only that dialect has tells them apart.
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


def _node(document: Document) -> Node:
    metadata = document.content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    labels = (metadata.get("labels") if isinstance(metadata, Mapping) else None) or {}
    if not isinstance(name, str) or not name:
        raise BadInput(message(f"{document.place}: Node", "metadata.name", name, "must be a string"))
    if not isinstance(labels, Mapping) or not all(isinstance(value, str) for value in labels.values()):
        raise BadInput(
            message(
                f"{document.place}: Node {name}", "metadata.labels", labels, "must map strings to strings"
            )
        )
    return Node(name, labels)
