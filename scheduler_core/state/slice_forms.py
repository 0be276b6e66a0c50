"""How the slices of a pool become the pool, and what is kept of the slices.

A pool that the tables cover is kept compiled. A v1 slice is then kept without its devices and counters. When
another slice of the pool changes, these are restored from the tables. A composite slice cannot be restored,
because flattening merges its mixins. So composite slices are kept whole; they are small.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, Protocol, TypeVar

from scheduler_core.base.errors import CannotProject
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.expressed_groups import with_groups
from scheduler_core.codec import v1
from scheduler_core.codec.v1 import V1Slice
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.device import SourceName
from scheduler_core.model.pool import Pool
from scheduler_core.state.node_views import Kept
from scheduler_core.tables.component import CompiledPool

AnySlice = TypeVar("AnySlice", bound=CompositeSlice | V1Slice)
KeptSlice = TypeVar("KeptSlice")

_NO_SOURCES: Final[Mapping[SourceName, Mapping[str, Quantity]]] = {}


class SliceForm(Protocol[AnySlice, KeptSlice]):
    """What differs between the two dialects."""

    def formed(self, slices: Collection[AnySlice]) -> Pool:
        """Return the pool that slices form."""
        ...

    def packed(self, slices: Collection[AnySlice], pool: Kept) -> Sequence[KeptSlice]:
        """Return what must be kept of the slices beside their pool."""
        ...

    def unpacked(self, slices: Sequence[KeptSlice], pool: Kept) -> Sequence[AnySlice]:
        """Return the slices again."""
        ...


class CompositeForm:
    """Slices of the composite dialect."""

    def formed(self, slices: Collection[CompositeSlice]) -> Pool:
        """Flatten the slices."""
        return flatten(slices)

    def packed(self, slices: Collection[CompositeSlice], pool: Kept) -> Sequence[CompositeSlice]:  # noqa: ARG002 - composite slices cannot be restored from the pool
        """Return the slices."""
        return tuple(slices)

    def unpacked(self, slices: Sequence[CompositeSlice], pool: Kept) -> Sequence[CompositeSlice]:  # noqa: ARG002
        """Return the slices."""
        return slices


class ProjectedForm(CompositeForm):
    """Slices of the composite dialect, read as the v1 slices that they stand for, with the names of these."""

    def formed(self, slices: Collection[CompositeSlice]) -> Pool:
        """Project the pool and its older generations. One that v1 cannot express is unusable."""
        return _projected(flatten(slices))


def _projected(pool: Pool) -> Pool:
    found = replace(pool, older=None if pool.older is None else _projected(pool.older))
    if not pool.is_complete or pool.problem is not None:
        return found
    try:
        return project(with_groups(found))
    except CannotProject as error:
        return replace(found, problem=str(error), devices=(), sources={})


@dataclass(frozen=True, slots=True)
class EmptiedSlice:
    """A v1 slice whose devices and counter sets are in the tables.

    Shape: ``slice`` is the slice without them; ``devices`` how many it lists; ``sources`` its counter sets.
    """

    slice: V1Slice
    devices: int
    sources: tuple[SourceName, ...]


class V1Form:
    """Slices of ``resource.k8s.io/v1``."""

    def formed(self, slices: Collection[V1Slice]) -> Pool:
        """Build the pool."""
        return v1.pool_of(slices)

    def packed(self, slices: Collection[V1Slice], pool: Kept) -> Sequence[V1Slice | EmptiedSlice]:
        """Empty the slices of a compiled pool, in the order in which the pool lists their devices."""
        if isinstance(pool, Pool):
            return tuple(slices)
        return tuple(map(_emptied, sorted(slices, key=lambda one: one.name)))

    def unpacked(self, slices: Sequence[V1Slice | EmptiedSlice], pool: Kept) -> Sequence[V1Slice]:
        """Fill the slices of a compiled pool again."""
        found: list[V1Slice] = []
        published = pool.restored() if isinstance(pool, CompiledPool) else pool
        devices = iter(published.devices)
        for one in slices:
            if isinstance(one, V1Slice):
                found.append(one)
            else:
                mine = tuple(islice(devices, one.devices))
                sources = {name: published.sources[name] for name in one.sources}
                found.append(replace(one.slice, devices=mine, sources=sources))
        return found


def _emptied(one: V1Slice) -> EmptiedSlice:
    return EmptiedSlice(replace(one, devices=(), sources=_NO_SOURCES), len(one.devices), tuple(one.sources))
