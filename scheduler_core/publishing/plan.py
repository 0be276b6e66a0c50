"""Plans the fewest writes that turn a pool's stored slices into the wanted ones, in a safe order. Pure.

A reader of a pool takes its highest generation, and uses it only if it has all the slices that it announces.
So a plan that writes one slice keeps the generation. A plan that writes more starts a new generation, which
is incomplete until its last slice is stored. A generation that a crash left incomplete is completed. In no
state between is there a complete pool that mixes old and new slices, whichever of the writes fail.
Source: the rules of the ResourceSlice controller in k8s.io/dynamic-resource-allocation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.publishing.documents import Document, name_of
from scheduler_core.publishing.sameness import same

_FIXED: Final = ("driver", "nodeName")  # the API server allows no change of these, nor of the pool's name

_ADDED: Final = ("labels", "annotations")  # other writers may add entries of their own


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object."""

    document: Document


@dataclass(frozen=True, slots=True)
class Update:
    """Replace an object in the version that ``document`` names."""

    document: Document


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an object if it still has this UID and this version."""

    name: str
    uid: str
    resource_version: str


Write = Create | Update | Delete


def plan(
    desired: Sequence[Document], actual: Sequence[Document], staying: AbstractSet[str] = frozenset()
) -> tuple[Write, ...]:
    """Return the writes that lead from ``actual`` to ``desired``: deletions, updates, creations.

    Shape: ``desired`` is one pool, names unique and sorted, which is the order of priority; the plan
           chooses its generation. ``actual`` are all objects of the node and driver.
           Metadata of ``desired`` (annotations, labels, owners) is added where it is missing.
           ``staying`` are names that cannot be deleted now: everything else is written, except what needs
           these names.
    """
    by_name = {name_of(one): one for one in actual}
    kept = {
        name_of(one): by_name[name_of(one)]
        for one in desired
        if name_of(one) in by_name and _is_changeable(one, by_name[name_of(one)])
    }
    obsolete = {name_of(one): one for one in actual if name_of(one) not in kept}
    stuck = {name: one for name, one in obsolete.items() if name in staying}
    deletions = [_delete(one) for name, one in obsolete.items() if name not in stuck]
    generation = _generation(desired, actual, kept, stuck)
    numbered = [_with_generation(one, generation) for one in desired]
    updates = [
        _update(one, kept[name_of(one)])
        for one in numbered
        if name_of(one) in kept and not _is_stored(one, kept[name_of(one)])
    ]
    creations = [Create(one) for one in numbered if name_of(one) not in kept and name_of(one) not in stuck]
    return (*deletions, *updates, *creations)


def _generation(
    desired: Sequence[Document],
    actual: Sequence[Document],
    kept: Mapping[str, Document],
    stuck: Mapping[str, Document],
) -> int:
    """Return the present generation if that is safe, else the next."""
    pools = {one["spec"]["pool"]["name"] for one in desired}
    current = max((generation_of(one) for one in actual if one["spec"]["pool"]["name"] in pools), default=0)
    if any(one["spec"]["pool"]["name"] in pools and generation_of(one) == current for one in stuck.values()):
        return current + 1  # readers would count it as a slice of the pool
    wanted = {name_of(one): _with_generation(one, current)["spec"] for one in desired}
    changed = {name for name, one in kept.items() if not same(wanted[name], one["spec"])}
    if len(kept) == len(desired) and len(changed) <= 1:
        return current
    settled = {name for name, one in kept.items() if generation_of(one) == current}
    is_unfinished = 0 < len(settled) < len(desired) and not settled & changed
    return current if is_unfinished else current + 1


def _is_changeable(wanted: Document, stored: Document) -> bool:
    """Whether an update can turn one object into the other."""
    ours, theirs = wanted["spec"], stored["spec"]
    same_place = all(ours.get(key) == theirs.get(key) for key in _FIXED)
    return same_place and ours["pool"]["name"] == theirs["pool"]["name"]


def _is_stored(wanted: Document, stored: Document) -> bool:
    return same(wanted["spec"], stored["spec"]) and _has_metadata(wanted, stored)


def _has_metadata(wanted: Document, stored: Document) -> bool:
    ours, theirs = wanted["metadata"], stored["metadata"]
    if "ownerReferences" in ours and not same(ours["ownerReferences"], theirs.get("ownerReferences") or []):
        return False
    return all((ours.get(key) or {}).items() <= (theirs.get(key) or {}).items() for key in _ADDED)


def _update(wanted: Document, stored: Document) -> Update:
    """Return the stored object with our content; metadata that others added stays."""
    ours, theirs = wanted["metadata"], stored["metadata"]
    added = {key: {**(theirs.get(key) or {}), **(ours.get(key) or {})} for key in _ADDED}
    metadata = {**theirs, **ours, **{key: value for key, value in added.items() if value}}
    metadata.pop("managedFields", None)
    return Update({**wanted, "metadata": metadata})


def _delete(stored: Document) -> Delete:
    metadata = stored["metadata"]
    return Delete(metadata["name"], metadata["uid"], metadata["resourceVersion"])


def _with_generation(document: Document, generation: int) -> Document:
    spec = document["spec"]
    return {**document, "spec": {**spec, "pool": {**spec["pool"], "generation": generation}}}


def generation_of(document: Document) -> int:
    """Return the pool generation of a slice."""
    return int(document["spec"]["pool"].get("generation") or 0)
