"""One input of ``tangram bench --input``: from JSON to values.

Takes a JSON object; in the form that hack/upstream-allocator also reads. Returns the state for an engine and
the claims to allocate. Unknown fields are ignored, because a case file has its expectation in the same
object. Nothing is allocated here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from scheduler_core.base.errors import InvalidInput
from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_claim, decode_class
from scheduler_core.codec.fields import Fields
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, Claim, ClaimRef, DeviceClass
from scheduler_core.model.device import DeviceId, DeviceName
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from tangram.conformance.situation import storable

_HOLDER: Final = ClaimRef("held", "in-use")
_ALL_SHARES: Final = "all"  # what shares consume is given as a sum per device
_MOST_REPEATS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to allocate, from what, where and how often.

    Shape: ``batches`` of claims are allocated one after the other, each batch at once; ``is_kept`` says
           whether a batch holds its devices when the next one comes; ``nodes`` are all tried.
    """

    pools: tuple[Pool, ...]
    classes: Mapping[str, DeviceClass]
    features: Features
    held: AllocatedClaim
    batches: tuple[tuple[Claim, ...], ...]
    is_kept: bool
    nodes: tuple[Node, ...]
    repeat: int


def decode_question(asked: Mapping[str, Any], subject: str = "input") -> Question:
    """Read an input; ``subject`` names it in messages.

    Raises: InvalidInput naming object, field, value and rule.
    """
    top = Fields(asked, subject, "", InvalidInput)
    sequence = asked.get("sequence")
    is_kept = sequence not in (None, False)
    claims = tuple(
        _apart(
            map(decode_claim, map(storable, _objects(top, "claims" if sequence is True else _source(top))))
        )
    )
    return Question(
        pools=v1.pools(map(v1.decode_slice, _objects(top, "slices"))),
        classes={found.name: found for found in map(decode_class, _objects(top, "classes"))},
        features=_features(top),
        held=AllocatedClaim(ref=_HOLDER, results=tuple(_held(top.optional("allocated")))),
        batches=tuple((one,) for one in claims) if is_kept else (claims,),
        is_kept=is_kept,
        nodes=tuple(_nodes(top)),
        repeat=top.integer("repeat", 1, least=1, most=_MOST_REPEATS),
    )


def _source(top: Fields) -> str:
    """Return which field lists the claims: a sequence may list them itself."""
    return "sequence" if top.has("sequence") and top.values["sequence"] is not False else "claims"


def _objects(fields: Fields, key: str) -> Iterator[Mapping[str, Any]]:
    return (child.values for child in fields.children(key))


def _apart(claims: Iterable[Claim]) -> Iterator[Claim]:
    """Yield the claims, with different names: answers are kept by name."""
    seen = set()
    for number, claim in enumerate(claims):
        again = claim.ref in seen
        seen.add(claim.ref)
        yield replace(claim, ref=replace(claim.ref, name=f"{claim.ref.name} {number}")) if again else claim


def _features(top: Fields) -> Features:
    try:
        return Features.only(top.texts("features"), groups="kep-5963")
    except ValueError as error:
        raise top.refuse("features", str(error)) from None


def _held(fields: Fields) -> Iterator[AllocatedDevice]:
    """Yield what is in use: devices, and shares of devices that serve many claims."""
    for child in fields.children("devices"):
        yield AllocatedDevice("held", _device(child))
    consumed = {_device(child): _amounts(child) for child in fields.children("capacity")}
    for child in fields.children("shared"):
        device = _device(child)
        share_id = child.text("shareID")
        yield AllocatedDevice("held", device, share_id=share_id, consumed=consumed.pop(device, {}))
    for device, amounts in consumed.items():
        yield AllocatedDevice("held", device, share_id=_ALL_SHARES, consumed=amounts)


def _device(fields: Fields) -> DeviceId:
    return DeviceId(fields.text("driver"), fields.text("pool"), DeviceName(fields.text("device")))


def _amounts(fields: Fields) -> dict[str, Quantity]:
    consumed = fields.optional("consumed")
    return {key: consumed.quantity(key) for key in consumed.values}


def _nodes(top: Fields) -> Iterator[Node]:
    """Yield the nodes to try: of those that are only named, no labels are known."""
    described = _node(top.child("node")) if top.has("node") else None
    if not top.has("nodes"):
        if described is None:
            raise top.refuse("node", "is missing: give the node, or the names of several in nodes")
        yield described
        return
    for name in top.texts("nodes"):
        yield described if described is not None and described.name == name else Node(name)


def _node(fields: Fields) -> Node:
    metadata = fields.child("metadata")
    labels = metadata.optional("labels")
    return Node(
        metadata.text("name"),
        {key: labels.text(key) for key in labels.values},
        frozenset(fields.optional("status").texts("declaredFeatures")),
    )
