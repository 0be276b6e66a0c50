"""Reads MultiNodePool objects. JSON values in, pools in both dialects out; a mistake is a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from controller.pools.members import TYPE, members_of_pool
from scheduler_core.base.errors import CoreError, InvalidSlice
from scheduler_core.codec.composite import decode_slice
from scheduler_core.codec.fields import Fields
from scheduler_core.codec.members import Members
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project
from scheduler_core.model.names import LABEL_RULE, is_label, qualified
from scheduler_core.model.ownership import MULTI_NODE
from scheduler_core.model.pool import Pool

API_VERSION: Final = "tangram.dev/v1alpha1"
KIND: Final = "MultiNodePool"
FINALIZER: Final = "tangram.dev/multi-node-pool"
"""Keeps an object of our own driver until no claim has one of its devices."""


@dataclass(frozen=True, slots=True)
class PoolObject:
    """A MultiNodePool.

    Shape: ``content`` is the pool as v1 slices express it, or why it cannot be published; ``is_own`` for
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

    @property
    def pool_name(self) -> str:
        """Return the name of the published pool."""
        return MULTI_NODE + self.name


class _Mistake(CoreError):
    """An object that its author must correct."""


def read_pool(document: Mapping[str, Any], own_driver: str) -> PoolObject:
    """Read an object as the server has it.

    Shape: ``own_driver`` is the driver whose devices here are GPUs that nodes would publish themselves.
    """
    metadata = document["metadata"]
    name = metadata["name"]
    members: Members = {}
    spec = document.get("spec")
    is_own = isinstance(spec, Mapping) and spec.get("driver") == own_driver
    try:
        flat = _flat(document, name)
        members = members_of_pool(flat, f"{KIND} {name}") if is_own else {}
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
    )


def _flat(document: Mapping[str, Any], name: str) -> Pool:
    """Return the pool without mixins. Raises: InvalidSlice."""
    subject = f"{KIND} {name}"
    if not is_label(name):
        raise InvalidSlice(subject, "metadata.name", name, LABEL_RULE)
    composite = decode_slice(_as_slice(Fields(document, subject, "", InvalidSlice), name))
    told = (*composite.broken_mixins.values(), *composite.broken_devices.values())
    for reason in (composite.problem, *told):
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
