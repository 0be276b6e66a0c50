"""What ``tangram top`` knows of a running cluster: slices and allocated claims, event by event.

Takes events of the API server; gives the occupancy. What cannot be read is left out, and its name is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base.errors import CoreError
from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.codec.reserved import reserved_for
from scheduler_core.frontends.occupancy.values import ClusterOccupancy
from scheduler_core.frontends.occupancy.view import OccupancyView
from scheduler_core.model.claim import ClaimRef
from scheduler_core.state.assignments import Holder, holder_of
from scheduler_core.state.cluster_state import ClusterState
from tangram.live_cluster import ClusterEvent, Listed, Told, Unheard

SLICES: Final = "ResourceSlice"
CLAIMS: Final = "ResourceClaim"
KINDS: Final = (SLICES, CLAIMS)
_Name = tuple[str, str]
"""The namespace and name of an object."""


class TopCluster:
    """The slices and allocated claims of a cluster. For one thread."""

    def __init__(self) -> None:
        self._state = ClusterState()
        self._view = OccupancyView(self._state)
        self._known: dict[str, set[_Name]] = {kind: set() for kind in KINDS}
        self._holders: dict[_Name, Holder] = {}
        self._pods: dict[ClaimRef, tuple[str, ...]] = {}
        self._listed: set[str] = set()

    @property
    def is_known(self) -> bool:
        """Whether every kind has been listed."""
        return len(self._listed) == len(KINDS)

    @property
    def has_slices(self) -> bool:
        """Whether there is a ResourceSlice."""
        return bool(self._known[SLICES])

    def occupancy(self) -> ClusterOccupancy:
        """Return who holds what."""
        return self._view.cluster(self._pods)

    def take(self, kind: str, event: ClusterEvent) -> tuple[str, ...]:
        """Enter an event. Returns what people should know of it: what is left out, or is not heard."""
        match event:
            case Listed(documents, unread):
                self._listed.add(kind)
                found = {_name(one) for one in documents}
                for name in self._known[kind] - found:
                    self._remove(kind, name)
                told = self._put_slices(documents) if kind == SLICES else map(self._put_claim, documents)
                return (*(f"{kind} {one}; it is left out" for one in unread), *filter(None, told))
            case Told(document, is_gone=True):
                self._remove(kind, _name(document))
                return ()
            case Told(document):
                told = self._put_slices((document,)) if kind == SLICES else [self._put_claim(document)]
                return tuple(filter(None, told))
            case Unheard(reason):
                return (reason,)

    def _put_slices(self, documents: tuple[Mapping[str, Any], ...]) -> list[str]:
        """Enter slices together, since those of one pool are cheaper together."""
        told, slices = [], []
        for document in documents:
            try:
                slices.append(v1.decode_slice(document))
            except CoreError as error:
                self._remove(SLICES, _name(document))
                told.append(f"left out, {error}")
            else:
                self._known[SLICES].add(_name(document))
        self._state.upsert_slices(slices)
        return told

    def _put_claim(self, document: Mapping[str, Any]) -> str:
        name = _name(document)
        try:
            claim = decode_allocated_claim(document)
            ref, pods = reserved_for(document)
        except CoreError as error:
            self._remove(CLAIMS, name)
            return f"left out, {error}"
        if claim is None:
            self._remove(CLAIMS, name)
            return ""
        holder = holder_of(claim)
        if self._holders.get(name, holder) != holder:  # deleted and made again while nobody listened
            self._remove(CLAIMS, name)
        self._known[CLAIMS].add(name)
        self._holders[name], self._pods[ref] = holder, pods
        self._state.hold(claim)
        return ""

    def _remove(self, kind: str, name: _Name) -> None:
        if name not in self._known[kind]:
            return
        self._known[kind].discard(name)
        if kind == SLICES:
            self._state.remove_v1_slice(name[1])
            return
        self._state.release(self._holders.pop(name))
        self._pods.pop(ClaimRef(*name), None)


def _name(document: Mapping[str, Any]) -> _Name:
    metadata = document.get("metadata") or {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
