"""The slices that a MultiNodePool is to have, in each layout that servers accept. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from controller.pools.objects import API_VERSION, KIND, PoolObject
from scheduler_core.base.errors import CannotProject
from scheduler_core.codec import v1
from scheduler_core.codec.members import encode_members
from scheduler_core.dialects.layout import Layout
from scheduler_core.model.ownership import MEMBERS, MULTI_NODE, POOL_LABEL
from scheduler_core.model.pool import Pool
from scheduler_core.publishing.documents import Document

_TRIAL: Final = "-trial"


def wanted_slices(found: PoolObject, pool: Pool, layout: Layout) -> tuple[Document, ...]:
    """Return the slices of an object's pool. Raises: CannotProject, for a pool too large for the old layout.

    Shape: names unique and sorted; they and the pool are of this object alone, and the object owns them.
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
                "ownerReferences": [owner],
                **_annotations(found, one),
            },
        }
        for index, one in enumerate(v1.encode_pool(pool, layout))
    )


def _annotations(found: PoolObject, slice_: Document) -> Document:
    """Return the members of a slice's devices, nothing for devices that have none."""
    listed = {one["name"] for one in slice_["spec"].get("devices") or ()}
    members = {name: nodes for name, nodes in found.members.items() if name in listed}
    return {"annotations": {MEMBERS: encode_members(members)}} if members else {}


def layouts(found: PoolObject, pool: Pool) -> Iterator[tuple[Document, ...]]:
    """Yield the slices in each layout that can express the pool, the best one first."""
    for layout in (Layout.SEPARATE, Layout.TOGETHER):
        try:
            yield wanted_slices(found, pool, layout)
        except CannotProject:
            continue


def trial(document: Document) -> Document:
    """Return a slice for a dry run, under a name that no stored one has."""
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "name": f"{metadata['name']}{_TRIAL}"}}


def of_pool(name: str, stored: Iterable[Document]) -> tuple[Document, ...]:
    """Return the stored slices of one object, by name."""
    mine = (one for one in stored if one["spec"]["pool"]["name"] == MULTI_NODE + name)
    return tuple(sorted(mine, key=lambda one: str(one["metadata"]["name"])))


def published_names(stored: Iterable[Document]) -> frozenset[str]:
    """Return the names of the objects that stored slices belong to."""
    pools = (str(one["spec"]["pool"]["name"]) for one in stored)
    return frozenset(name.removeprefix(MULTI_NODE) for name in pools if name.startswith(MULTI_NODE))
