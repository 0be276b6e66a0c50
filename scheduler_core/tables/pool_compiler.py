"""Compiles a pool: flat devices in, components that share templates out.

The tables do not cover a pool that is invalid or incomplete, or of which an older generation still counts,
nor one whose devices only some kubelets can serve (``skipNodeOperations``, an alpha field).
Such a pool stays a pool of flat devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_core.base.features import ALL, Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import DeviceName, SourceName
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.tables.component import CompiledPool, Component
from scheduler_core.tables.component_reader import ComponentReader, ReadComponent
from scheduler_core.tables.component_template import ComponentTemplate
from scheduler_core.tables.connected import connected
from scheduler_core.tables.entries import Entries
from scheduler_core.tables.intern_tables import InternTables
from scheduler_core.tables.pool_template import PoolTemplate
from scheduler_core.tables.structure_class import StructureClass

_POOL_TEMPLATES: Final = 64  # pools remembered by the names of their devices
_NOTHING: Final[dict[SourceName, Mapping[str, Quantity]]] = {}


def is_whole(pool: Pool) -> bool:
    """Whether the pool is valid, complete, and the same seen from every node."""
    return pool.problem is None and pool.is_complete and pool.older is None and not pool.skips_operations


class PoolCompiler:
    """Compiles the pools of a cluster. Equal parts are kept once."""

    def __init__(self, features: Features = ALL) -> None:
        self.features = features
        self._intern_tables = InternTables(features)
        self._pool_templates: dict[tuple[str, tuple[DeviceName, ...]], PoolTemplate] = {}

    def compile(self, pool: Pool) -> CompiledPool:
        """Return the compiled pool. Raises: ValueError where the tables do not cover it."""
        found = self.compile_if_regular(pool)
        if found is None:
            raise ValueError(f"cannot compile pool {pool.id}: the tables do not cover it")
        return found

    def compile_if_regular(self, pool: Pool) -> CompiledPool | None:
        """Return the compiled pool, None where the tables do not cover it."""
        pool = pool.with_features(self.features)
        if not is_whole(pool):
            return None
        components = self._components(pool)
        drawn = {source for one in components for source in one.layout.sources}
        spare = {name: amounts for name, amounts in pool.sources.items() if name not in drawn}
        return CompiledPool(
            id=pool.id,
            generation=pool.generation,
            components=tuple(components),
            seen_from=pool.seen_from,
            rejected=pool.rejected,
            spare=spare or _NOTHING,
            waits=any(one.template.structure_class.waiting for one in components),
            partitionable=pool.partitionable,
        )

    def _components(self, pool: Pool) -> list[Component]:
        """Return the components of a pool."""
        key = (pool.id.driver, tuple([device.name for device in pool.devices]))
        pool_template = self._pool_templates.get(key)
        found = pool_template.read(pool) if pool_template is not None else None
        if found is None:
            found = self._read(pool)
            if len(self._pool_templates) >= _POOL_TEMPLATES:
                self._pool_templates.clear()
            self._pool_templates[key] = PoolTemplate(pool, found)
        return found

    def _read(self, pool: Pool) -> list[Component]:
        """Read a pool without a template."""
        reader = ComponentReader(pool, self._intern_tables)
        found = [reader.read(members) for members in connected(pool.devices)]
        return _components(found, self._intern_tables, pool.id)


def _components(found: Sequence[ReadComponent], intern_tables: InternTables, pool: PoolId) -> list[Component]:
    """Return the components of a pool: those of one structure class share one template."""
    by_class: dict[StructureClass, list[Entries]] = {}
    for one in found:
        by_class.setdefault(one.structure_class, []).append(one.entries)
    templates: dict[StructureClass, ComponentTemplate] = {}
    for structure_class, rows in by_class.items():
        structure_class.note(rows)
        templates[structure_class] = intern_tables.template(structure_class, rows[0])
    return [
        Component(
            templates[one.structure_class], one.layout, one.structure_class.own(one.entries), one.nodes, pool
        )
        for one in found
    ]
