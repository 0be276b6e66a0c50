"""The slices of one dialect and the pools that they form. A changed slice rebuilds only its pool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Generic

from scheduler_core.model.pool import PoolId
from scheduler_core.state.node_views import Kept
from scheduler_core.state.slice_forms import AnySlice, KeptSlice, SliceForm
from scheduler_core.tables.pool_compiler import PoolCompiler


class PublishedPools(Generic[AnySlice, KeptSlice]):
    """The slices of one dialect by name, and their pools by identity."""

    def __init__(self, form: SliceForm[AnySlice, KeptSlice], compiler: PoolCompiler) -> None:
        self._form = form
        self._compiler = compiler
        self._pool_of: dict[str, PoolId] = {}
        self._pools: dict[PoolId, tuple[Kept, Sequence[KeptSlice]]] = {}

    def get(self, pool: PoolId) -> Kept | None:
        """Return a pool, None where no slice of it is known."""
        found = self._pools.get(pool)
        return None if found is None else found[0]

    def upsert(self, slices: Iterable[AnySlice]) -> set[PoolId]:
        """Add slices or replace those of the same name, and return the pools that changed.

        Slices of one pool that follow each other are added together, so the pool is built once.
        """
        changed: set[PoolId] = set()
        for pool, group in groupby(slices, key=lambda one: one.pool):
            found = {one.name: one for one in group}
            for name in found:
                if self._pool_of.get(name, pool) != pool:  # the slice was moved to another pool
                    changed |= self.remove(name)
                self._pool_of[name] = pool
            self._assemble(pool, self._slices(pool) | found)
            changed.add(pool)
        return changed

    def remove(self, name: str) -> set[PoolId]:
        """Remove a slice, if it is known, and return the pools that changed."""
        pool = self._pool_of.pop(name, None)
        if pool is None:
            return set()
        slices = self._slices(pool)
        del slices[name]
        if slices:
            self._assemble(pool, slices)
        else:
            del self._pools[pool]
        return {pool}

    def _slices(self, pool: PoolId) -> dict[str, AnySlice]:
        """Return the known slices of a pool by name."""
        found = self._pools.get(pool)
        if found is None:
            return {}
        return {one.name: one for one in self._form.unpacked(found[1], found[0])}

    def _assemble(self, pool: PoolId, slices: dict[str, AnySlice]) -> None:
        formed = self._form.formed(slices.values())
        usable = formed.with_features(self._compiler.features)
        kept = self._compiler.compile_if_regular(usable) or usable
        # Slices that the features ignore are not in the tables. If there are any, all slices are kept whole.
        self._pools[pool] = (kept, self._form.packed(slices.values(), kept if usable is formed else formed))
