"""What ``tangram top`` knows of a running cluster: slices and allocated claims, event by event.

Takes events of the API server, of which only what ``READINGS`` read is kept; gives the occupancy. What cannot
be read is left out, and its name is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.codec.reserved import reserved_for
from scheduler_core.codec.v1 import V1Slice
from scheduler_core.frontends.occupancy.values import ClusterOccupancy
from scheduler_core.frontends.occupancy.view import OccupancyView
from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.state.assignments import Holder, holder_of
from scheduler_core.state.cluster_state import ClusterState
from tangram.cluster_objects import SLICES as SLICE_READING
from tangram.cluster_objects import LeftOut, or_left_out
from tangram.clusters import Reading
from tangram.live_cluster import ClusterEvent, Listed, Told, Unheard

SLICES: Final = "ResourceSlice"
CLAIMS: Final = "ResourceClaim"
_Name = tuple[str, str]
"""The namespace and name of an object."""


class ClaimRead(NamedTuple):
    """A claim: what it holds, None where that is nothing, and the pods that it is reserved for."""

    ref: ClaimRef
    held: AllocatedClaim | None
    pods: tuple[str, ...]


def _claim(document: Mapping[str, Any]) -> ClaimRead:
    held = decode_allocated_claim(document)
    ref, pods = reserved_for(document)
    return ClaimRead(ref, held, pods)


_Read = V1Slice | ClaimRead | LeftOut
READINGS: Final[Mapping[str, Reading[Any]]] = {SLICES: SLICE_READING, CLAIMS: Reading(or_left_out(_claim))}
"""How the objects of each kind are read."""


class TopCluster:
    """The slices and allocated claims of a cluster. For one thread."""

    def __init__(self) -> None:
        self._state = ClusterState()
        self._view = OccupancyView(self._state)
        self._known: dict[str, set[_Name]] = {kind: set() for kind in READINGS}
        self._holders: dict[_Name, Holder] = {}
        self._pods: dict[ClaimRef, tuple[str, ...]] = {}
        self._listed: set[str] = set()

    @property
    def is_known(self) -> bool:
        """Whether every kind has been listed."""
        return len(self._listed) == len(READINGS)

    @property
    def has_slices(self) -> bool:
        """Whether there is a ResourceSlice."""
        return bool(self._known[SLICES])

    def occupancy(self) -> ClusterOccupancy:
        """Return who holds what."""
        return self._view.cluster(self._pods)

    def take(self, kind: str, event: ClusterEvent[Any]) -> tuple[str, ...]:
        """Enter an event. Returns what people should know of it: what is left out, or is not heard."""
        match event:
            case Listed(found, unread):
                self._listed.add(kind)
                names = {_name(one) for one in found}
                for name in self._known[kind] - names:
                    self._remove(kind, name)
                return (*(f"{kind} {one}; it is left out" for one in unread), *self._put(kind, found))
            case Told(one, is_gone=True):
                self._remove(kind, _name(one))
                return ()
            case Told(one):
                return self._put(kind, (one,))
            case Unheard(reason):
                return (reason,)

    def _put(self, kind: str, found: Sequence[_Read]) -> tuple[str, ...]:
        """Enter objects; slices together, since those of one pool are cheaper together."""
        told, slices = [], []
        for one in found:
            match one:
                case LeftOut():
                    self._remove(kind, _name(one))
                    told.append(str(one))
                case ClaimRead():
                    self._put_claim(one)
                case _:
                    self._known[SLICES].add(_name(one))
                    slices.append(one)
        if slices:
            self._state.upsert_slices(slices)
        return tuple(told)

    def _put_claim(self, one: ClaimRead) -> None:
        name = _name(one)
        if one.held is None:
            self._remove(CLAIMS, name)
            return
        holder = holder_of(one.held)
        if self._holders.get(name, holder) != holder:  # deleted and made again while nobody listened
            self._remove(CLAIMS, name)
        self._known[CLAIMS].add(name)
        self._holders[name], self._pods[one.ref] = holder, one.pods
        self._state.hold(one.held)

    def _remove(self, kind: str, name: _Name) -> None:
        if name not in self._known[kind]:
            return
        self._known[kind].discard(name)
        if kind == SLICES:
            self._state.remove_v1_slice(name[1])
            return
        self._state.release(self._holders.pop(name))
        self._pods.pop(ClaimRef(*name), None)


def _name(one: _Read) -> _Name:
    match one:
        case ClaimRead(ref=ref):
            return ref.namespace, ref.name
        case LeftOut(namespace=namespace, name=name):
            return namespace, name
        case _:
            return "", one.name
