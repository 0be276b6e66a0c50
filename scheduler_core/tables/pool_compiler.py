"""Compiles a pool: flat devices in, components that share templates out.

The tables do not cover a pool that is invalid or incomplete, a pool of which an older generation still
counts, and a pool with a device that has ``compatibleOnlyWith``. Such pools stay flat devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_core.base.features import ALL, Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import Device, DeviceName, SourceName
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.tables.component import CompiledPool, Component
from scheduler_core.tables.component_reader import ComponentReader, ReadComponent
from scheduler_core.tables.component_template import ComponentTemplate
from scheduler_core.tables.connected import connected
from scheduler_core.tables.intern_tables import InternTables
from scheduler_core.tables.pool_template import PoolTemplate
from scheduler_core.tables.structure_class import Entries, StructureClass

_POOL_TEMPLATES: Final = 64  # pools remembered by the names of their devices
_NOTHING: Final[dict[SourceName, Mapping[str, Quantity]]] = {}


def is_regular(pool: Pool, features: Features = ALL) -> bool:
    """Whether the tables cover the pool and every claim on it."""
    is_shared = any(device.is_shareable for device in pool.devices)
    return _is_final(pool) and _are_covered(pool.devices, features) and not is_shared


def _is_final(pool: Pool) -> bool:
    """Whether the pool is valid, complete, and the same seen from every node."""
    return pool.problem is None and pool.is_complete and pool.older is None


def _are_covered(devices: Sequence[Device], features: Features) -> bool:
    """Whether no device has an expression about others, and none needs a feature that is off."""
    return (
        not any([device.only_with is not None for device in devices])
        and (features.DRAPartitionableDevices or not any([device.draws for device in devices]))
        and (
            features.DRADeviceCompatibilityGroups
            or not any([draw.groups for device in devices for draw in device.draws])
        )
        and (features.binding or not any([device.binding.conditions for device in devices]))
        and (features.DRAConsumableCapacity or not any([device.is_shareable for device in devices]))
    )


class PoolCompiler:
    """Compiles the pools of a cluster. Equal parts are kept once."""

    def __init__(self, features: Features = ALL) -> None:
        self._features = features
        self._intern_tables = InternTables(features.groups)
        self._pool_templates: dict[tuple[str, tuple[DeviceName, ...]], PoolTemplate] = {}

    def compile(self, pool: Pool) -> CompiledPool:
        """Return the compiled pool. Raises: ValueError where the tables do not cover it."""
        found = self.compile_if_regular(pool)
        if found is None:
            raise ValueError(f"cannot compile pool {pool.id}: the tables do not cover it")
        return found

    def compile_if_regular(self, pool: Pool) -> CompiledPool | None:
        """Return the compiled pool, None where the tables do not cover it."""
        components = self._components(pool) if _is_final(pool) else None
        if components is None:
            return None
        drawn = {source for one in components for source in one.layout.sources}
        spare = {name: amounts for name, amounts in pool.sources.items() if name not in drawn}
        return CompiledPool(
            id=pool.id,
            generation=pool.generation,
            components=tuple(components),
            seen_from=pool.seen_from,
            rejected=pool.rejected,
            spare=spare or _NOTHING,
            waits=any(one.template.structure_class.waits for one in components),
        )

    def _components(self, pool: Pool) -> list[Component] | None:
        """Return the components, None where the tables do not cover some device."""
        key = (pool.id.driver, tuple([device.name for device in pool.devices]))
        pool_template = self._pool_templates.get(key)
        found = pool_template.read(pool) if pool_template is not None else None
        if found is None and _are_covered(pool.devices, self._features):
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
