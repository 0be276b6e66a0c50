"""What the demo allocates: claims and classes from files, or a claim made for the node."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from agent.inventory.model import Inventory
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.claims import decode_claim, decode_class
from scheduler_core.codec.documents import Document, InvalidDocument
from scheduler_core.frontends.claims.annotated_documents import claim_marks
from scheduler_core.frontends.claims.claim_demands import Marks
from scheduler_core.model.claim import Claim, ClaimRef, DeviceClass
from scheduler_core.search.candidates import selectors_of
from tangram.classes import device_classes
from tangram.demo.claim import suitable_claim
from tangram.errors import BadInput
from tangram.objects import read_objects

_CLAIM_KINDS = ("ResourceClaim", "ResourceClaimTemplate")


@dataclass(frozen=True, slots=True)
class Asked:
    """Claims as written and as read, side by side, the classes they may name, and what annotations ask."""

    written: tuple[Mapping[str, Any], ...]
    claims: tuple[Claim, ...]
    classes: Mapping[str, DeviceClass]
    marks: Mapping[ClaimRef, Marks] = field(default_factory=dict)


def suitable(inventory: Inventory, driver: str) -> Asked:
    """Return a claim that suits the node."""
    written = _with_uid(suitable_claim(inventory, driver))
    return Asked((written,), (decode_claim(written),), _driver_classes(driver))


def from_documents(documents: Sequence[Document], driver: str) -> Asked:
    """Return the claims of a file; classes that it defines replace the driver's.

    Raises: BadInput for a file without claims, a bad annotation, or anything but claims and classes;
            InvalidClaim, InvalidClass, SelectorError for what they say.
    """
    for document in documents:
        kind = document.content.get("kind")
        if kind not in (*_CLAIM_KINDS, "DeviceClass"):
            raise BadInput(f"{document.place}: kind: {kind!r}: the demo takes claims and device classes")
    objects = read_objects(documents)
    if objects.allocated:
        raise BadInput(f"claim {objects.allocated[0].ref} is allocated already: leave its status out")
    written = tuple(
        _with_uid(document.content) for document in documents if document.content["kind"] in _CLAIM_KINDS
    )
    if not written:
        raise BadInput("the claim file has no ResourceClaim")
    asked = Asked(
        written,
        tuple(decode_claim(claim) for claim in written),
        {**_driver_classes(driver), **objects.classes},
        _marks(documents),
    )
    _check(asked)
    return asked


def _marks(documents: Sequence[Document]) -> Mapping[ClaimRef, Marks]:
    try:
        return claim_marks(documents)
    except InvalidDocument as error:
        raise BadInput(str(error)) from error


def _check(asked: Asked) -> None:
    """Refuse unknown classes and selectors that do not compile before the walk begins."""
    for claim in asked.claims:
        for request in claim.requests:
            for option in request.alternatives:
                selectors_of(option, claim, asked.classes)


def _driver_classes(driver: str) -> dict[str, DeviceClass]:
    return {found.name: found for found in map(decode_class, device_classes(driver))}


def _with_uid(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claim as an API server would store it: with a namespace and a UID of its own."""
    metadata = dict(claim["metadata"])
    namespace = metadata.get("namespace") or "default"
    uid = metadata.get("uid") or str(
        uuid.uuid5(uuid.NAMESPACE_URL, f"tangram:{namespace}/{metadata['name']}")
    )
    return {**claim, "kind": "ResourceClaim", "metadata": metadata | {"namespace": namespace, "uid": uid}}
