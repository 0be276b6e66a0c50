"""Reads MultiNodePool objects, and writes the slices that they become.

JSON values in, pools in both dialects out; a mistake is a sentence. This is the one road from an object to
its slices: the controller publishes them, and the commands show and judge them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Final

from scheduler_core.base.errors import CannotProject, CoreError, InvalidSlice
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import v1
from scheduler_core.codec.composite import decode_slice
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.codec.members import Members, encode_members
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project
from scheduler_core.frontends.multi_node.members import TYPE, members_of_pool
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.names import LABEL_RULE, is_label, qualified
from scheduler_core.model.ownership import MEMBERS, MULTI_NODE, POOL_LABEL
from scheduler_core.model.pool import Pool
from scheduler_core.publishing.documents import Document

API_VERSION: Final = "tangram.dev/v1alpha1"
KIND: Final = "MultiNodePool"
FINALIZER: Final = "tangram.dev/multi-node-pool"
"""Keeps an object of our own driver until no claim has one of its devices."""


@dataclass(frozen=True, slots=True)
class PoolObject:
    """A MultiNodePool.

    Shape: ``content`` is the pool as v1 slices express it, or why it cannot be published; ``composite`` is
           the object as a slice of the composite dialect, None if it cannot be read at all; ``is_own`` for
           pools of our own driver, whose devices consist of ``members``; ``version`` is the object's
           resourceVersion; it ``is_leaving`` once it was deleted and its finalizers remain.
    """

    name: str
    uid: str
    generation: int
    content: Pool | str
    status: Mapping[str, Any]
    is_own: bool = False
    members: Members = field(default_factory=dict)
    version: str = ""
    finalizers: tuple[str, ...] = ()
    is_leaving: bool = False
    composite: CompositeSlice | None = None

    @property
    def pool_name(self) -> str:
        """Return the name of the published pool."""
        return MULTI_NODE + self.name


class _Mistake(CoreError):
    """An object that its author must correct."""


def read_pool(document: Mapping[str, Any], own_driver: str) -> PoolObject:
    """Read an object as the server or a file has it.

    Shape: ``own_driver`` is the driver whose devices here are GPUs that nodes would publish themselves.
    Raises: InvalidSlice for an object without a name, which a server does not have.
    """
    subject = subject_of(document, KIND)
    fields = Fields(document, subject, "", InvalidSlice)
    metadata = fields.child("metadata").values
    name = fields.child("metadata").text("name")
    composite: CompositeSlice | None = None
    members: Members = {}
    spec = document.get("spec")
    is_own = isinstance(spec, Mapping) and spec.get("driver") == own_driver
    try:
        if not is_label(name):
            raise InvalidSlice(subject, "metadata.name", name, LABEL_RULE)
        composite = decode_slice(_as_slice(fields, name))
        flat = _flat(composite, subject)
        members = members_of_pool(flat, subject) if is_own else {}
        content: Pool | str = _typed(project(flat)) if is_own else project(flat)
    except CoreError as error:
        content = str(error)
    return PoolObject(
        name,
        metadata.get("uid", ""),
        metadata.get("generation", 0),
        content,
        document.get("status") or {},
        is_own=is_own,
        members=members,
        version=metadata.get("resourceVersion", ""),
        finalizers=tuple(metadata.get("finalizers") or ()),
        is_leaving="deletionTimestamp" in metadata,
        composite=composite,
    )


def wanted_slices(found: PoolObject, pool: Pool, layout: Layout) -> tuple[Document, ...]:
    """Return the slices of an object's pool. Raises: CannotProject, for a pool too large for the old layout.

    Shape: names unique and sorted; they and the pool are of this object alone, and the object owns them. An
           object that no server has yet has no UID by which it could own them.
    """
    owner = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": found.name,
        "uid": found.uid,
        "controller": True,
    }
    # The object's name has no dot: slices of two objects never have the same name.
    return tuple(
        {
            **one,
            "metadata": {
                "name": f"multi-node.{found.name}.{pool.id.driver}-{index:02d}",
                "labels": {POOL_LABEL: found.name},
                **({"ownerReferences": [owner]} if found.uid else {}),
                **_annotations(found, one),
            },
        }
        for index, one in enumerate(v1.encode_pool(pool, layout))
    )


def layouts(found: PoolObject, pool: Pool) -> Iterator[tuple[Document, ...]]:
    """Yield the slices in each layout that can express the pool, the best one first."""
    for layout in (Layout.SEPARATE, Layout.TOGETHER):
        try:
            yield wanted_slices(found, pool, layout)
        except CannotProject:
            continue


def of_pool(name: str, stored: Iterable[Document]) -> tuple[Document, ...]:
    """Return the stored slices of one object, by name."""
    mine = (one for one in stored if one["spec"]["pool"]["name"] == MULTI_NODE + name)
    return tuple(sorted(mine, key=lambda one: str(one["metadata"]["name"])))


def _flat(composite: CompositeSlice, subject: str) -> Pool:
    """Return the pool without mixins. Raises: CoreError for the first entry that breaks a rule.

    One entry keeps the whole pool back: without it, what it shares with others would seem free.
    """
    reasons = (*composite.broken_mixins.values(), *composite.broken_devices.values())
    for reason in (composite.problem, *reasons):
        if reason is not None:
            raise _Mistake(reason)  # it names object, field and rule
    flat = flatten([composite])
    for device_name, rejected in flat.rejected.items():
        raise InvalidSlice(subject, "spec.devices", str(device_name), rejected.reason)
    return flat


def _typed(pool: Pool) -> Pool:
    """Return the pool with a ``type`` on every device: selectors for devices of our driver ask for it."""
    own = {qualified("type", pool.id.driver): TYPE}
    devices = (replace(one, attributes={**one.attributes, **own}) for one in pool.devices)
    return replace(pool, devices=tuple(devices))


def _as_slice(document: Fields, name: str) -> Mapping[str, Any]:
    """Return the object as a composite slice of one pool, which has the same devices and mixins."""
    pool = {"name": MULTI_NODE + name, "generation": 1, "resourceSliceCount": 1}
    spec = {**document.optional("spec").values, "pool": pool, "nodeSelectionDelegated": True}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def _annotations(found: PoolObject, slice_: Document) -> Document:
    """Return the members of a slice's devices, nothing for devices that have none."""
    listed = {one["name"] for one in slice_["spec"].get("devices") or ()}
    members = {name: nodes for name, nodes in found.members.items() if name in listed}
    return {"annotations": {MEMBERS: encode_members(members)}} if members else {}
