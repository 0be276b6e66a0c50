"""Compile a pool: flat devices go in, components that share templates come out.

Pools that the tables do not cover are left to the plain search, and so are claims that choose devices of
components with shared ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_core.base.features import ALL, Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.tables.component import CompiledPool, Component
from scheduler_core.engine.tables.component_reader import Found, Reader
from scheduler_core.engine.tables.component_template import Template
from scheduler_core.engine.tables.connected import connected
from scheduler_core.engine.tables.intern_tables import Library
from scheduler_core.engine.tables.pool_template import Blueprint
from scheduler_core.engine.tables.structure_class import Entries, Skeleton
from scheduler_core.model.device import Device, DeviceName, SourceName
from scheduler_core.model.pool import Pool, PoolId

_BLUEPRINTS: Final = 64  # machines remembered by the names of their devices
_NOTHING: Final[dict[SourceName, Mapping[str, Quantity]]] = {}


def is_regular(pool: Pool, features: Features = ALL) -> bool:
    """Whether the tables cover everything about the pool."""
    is_shared = any(device.is_shareable for device in pool.devices)
    return _is_whole(pool) and _are_plain(pool.devices, features) and not is_shared


def _is_whole(pool: Pool) -> bool:
    """Whether the pool counts as it is, from wherever it is seen."""
    return pool.problem is None and pool.is_complete and pool.older is None


def _are_plain(devices: Sequence[Device], features: Features) -> bool:
    """Whether no device judges others, and every feature is on that one of them needs."""
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


class Compiler:
    """Compiles the pools of one engine: what is equal in them is kept once."""

    def __init__(self, features: Features = ALL) -> None:
        self._features = features
        self._library = Library(features.groups)
        self._blueprints: dict[tuple[str, tuple[DeviceName, ...]], Blueprint] = {}

    def compile(self, pool: Pool) -> CompiledPool:
        """Return the pool in tables. The pool must be regular."""
        found = self.compile_if_regular(pool)
        if found is None:
            raise ValueError(f"pool {pool.id} is not regular")
        return found

    def compile_if_regular(self, pool: Pool) -> CompiledPool | None:
        """Return the pool in tables, None where those do not cover everything about it."""
        components = self._components(pool) if _is_whole(pool) else None
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
            waits=any(one.template.skeleton.waits for one in components),
        )

    def _components(self, pool: Pool) -> list[Component] | None:
        """Return the components, None where some device is not plain."""
        key = (pool.id.driver, tuple([device.name for device in pool.devices]))
        blueprint = self._blueprints.get(key)
        found = blueprint.read(pool) if blueprint is not None else None
        if found is None and _are_plain(pool.devices, self._features):
            found = self._read(pool)
            if len(self._blueprints) >= _BLUEPRINTS:
                self._blueprints.clear()
            self._blueprints[key] = Blueprint(pool, found)
        return found

    def _read(self, pool: Pool) -> list[Component]:
        """Read the pool from the start."""
        reader = Reader(pool, self._library)
        found = [reader.read(members) for members in connected(pool.devices)]
        return _components(found, self._library, pool.id)


def _components(found: Sequence[Found], library: Library, pool: PoolId) -> list[Component]:
    """Return the components of a pool. Those of one skeleton leave the same entries open, in one template."""
    alike: dict[Skeleton, list[Entries]] = {}
    for one in found:
        alike.setdefault(one.skeleton, []).append(one.entries)
    templates: dict[Skeleton, Template] = {}
    for skeleton, rows in alike.items():
        skeleton.note(rows)
        templates[skeleton] = library.template(skeleton, rows[0])
    return [
        Component(templates[one.skeleton], one.layout, one.skeleton.own(one.entries), one.nodes, pool)
        for one in found
    ]
