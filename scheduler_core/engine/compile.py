"""Compile a pool: flat devices go in, components that share templates come out.

Mappings that are the same object are looked at once: pools made from mixins repeat them. Only what the
tables cover is compiled; other pools are left to the plain search (``is_regular``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler_core.engine.component import CompiledPool, Component
from scheduler_core.engine.library import BodyKey, Library
from scheduler_core.engine.template import Keys, Layout, Skeleton, Values
from scheduler_core.features import ALL, Features
from scheduler_core.model.device import AttributeValue, Binding, Device, DeviceName, QualifiedName, SourceName
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.quantity import Quantity

_NO_BINDING = Binding()


def is_regular(pool: Pool, features: Features = ALL) -> bool:
    """Whether the tables cover everything about the pool."""
    return (
        pool.problem is None
        and pool.is_complete
        and pool.older is None
        and all(map(_is_plain, pool.devices))
        and (features.DRAPartitionableDevices or not any(device.draws for device in pool.devices))
    )


def _is_plain(device: Device) -> bool:
    """Whether the device is taken as a whole or not at all, and asks nothing of others in use."""
    return not (
        device.taints
        or device.is_shareable
        or device.policies
        or device.only_with is not None
        or device.binding != _NO_BINDING
        or any(draw.groups is not None for draw in device.draws)
    )


def compile_pool(pool: Pool, library: Library) -> CompiledPool:
    """Return the pool in tables. The pool must be regular."""
    reader = _Reader(pool, library)
    found = [reader.read(members) for members in connected(pool.devices)]
    for one in found:
        one.skeleton.note(one.values)
    drawn = {source for one in found for source in one.layout.sources}
    return CompiledPool(
        id=pool.id,
        generation=pool.generation,
        components=tuple(_components(found, library, pool.id)),
        seen_from=pool.seen_from,
        rejected=pool.rejected,
        spare={name: amounts for name, amounts in pool.sources.items() if name not in drawn},
    )


def connected(devices: Sequence[Device]) -> list[list[int]]:
    """Return the devices of each component, as indexes in listed order."""
    root = list(range(len(devices)))

    def find(index: int) -> int:
        while root[index] != index:
            root[index] = index = root[root[index]]
        return index

    index_of = {device.name: index for index, device in enumerate(devices)}
    first_user: dict[SourceName, int] = {}
    for index, device in enumerate(devices):
        others = [index_of[parent] for parent in device.parents]
        others += [first_user.setdefault(draw.source, index) for draw in device.draws]
        for other in others:
            one, two = find(index), find(other)
            if one != two:
                root[max(one, two)] = min(one, two)
    members: dict[int, list[int]] = {}
    for index in range(len(devices)):
        members.setdefault(find(index), []).append(index)
    return list(members.values())


class _Found:
    """A component as read: its skeleton, its values, and what is its own."""

    __slots__ = ("layout", "nodes", "skeleton", "values")

    def __init__(
        self,
        skeleton: Skeleton,
        values: Values,
        layout: Layout,
        nodes: NodeSelection | tuple[NodeSelection, ...],
    ) -> None:
        self.skeleton = skeleton
        self.values = values
        self.layout = layout
        self.nodes = nodes


class _Reader:
    """Reads the components of one pool. It lives as long as one compilation: ids stay unique."""

    def __init__(self, pool: Pool, library: Library) -> None:
        self._pool = pool
        self._library = library
        self._numbers: dict[int, int] = {}
        self._looks: dict[int, tuple[Keys, Values, tuple[int, ...]]] = {}

    def read(self, members: Sequence[int]) -> _Found:
        """Read one component."""
        devices = [self._pool.devices[index] for index in members]
        position_of = {device.name: position for position, device in enumerate(devices)}
        sources: dict[SourceName, int] = {}
        bodies = tuple(self._body(device, position_of, sources) for device in devices)
        groups, values = self._groups(devices)
        numbers = tuple(self._number(self._pool.sources[source]) for source in sources)
        skeleton = self._library.skeleton((self._pool.id.driver, bodies, numbers, groups))
        names = tuple(device.name for device in devices)
        layout = self._library.layout(Layout(names, tuple(sources), tuple(members)))
        return _Found(skeleton, values, layout, _selection(devices))

    def _body(
        self, device: Device, position_of: Mapping[DeviceName, int], sources: dict[SourceName, int]
    ) -> BodyKey:
        return (
            self._number(device.capacity),
            tuple(
                (sources.setdefault(draw.source, len(sources)), self._number(draw.amounts))
                for draw in device.draws
            ),
            tuple(position_of[parent] for parent in device.parents),
        )

    def _number(self, amounts: Mapping[str, Quantity] | Mapping[QualifiedName, Quantity]) -> int:
        number = self._numbers.get(id(amounts))
        if number is None:
            number = self._numbers[id(amounts)] = self._library.amounts(amounts)
        return number

    def _groups(self, devices: Sequence[Device]) -> tuple[tuple[tuple[Keys, int], ...], Values]:
        """Return the devices with the same attributes as groups, and the values of all groups."""
        masks: dict[tuple[Keys, tuple[int, ...]], int] = {}
        values: list[AttributeValue] = []
        for position, device in enumerate(devices):
            keys, mine, ids = self._look(device)
            group = (keys, ids)
            if group not in masks:
                values += mine
            masks[group] = masks.get(group, 0) | 1 << position
        return tuple((keys, mask) for (keys, _), mask in masks.items()), tuple(values)

    def _look(self, device: Device) -> tuple[Keys, Values, tuple[int, ...]]:
        """Return the attributes of a device: keys, values, and the identities of the values."""
        known = self._looks.get(id(device.attributes))
        if known is None:
            values = tuple(device.attributes.values())
            known = (tuple(device.attributes), values, tuple(map(id, values)))
            self._looks[id(device.attributes)] = known
        return known


def _selection(devices: Sequence[Device]) -> NodeSelection | tuple[NodeSelection, ...]:
    first = devices[0].nodes
    if all(device.nodes is first or device.nodes == first for device in devices):
        return first
    return tuple(device.nodes for device in devices)


def _components(found: Sequence[_Found], library: Library, pool: PoolId) -> list[Component]:
    components = []
    for one in found:
        template = library.template(one.skeleton, one.values)
        own = tuple(one.values[index] for index in template.open)
        components.append(Component(template, one.layout, own, one.nodes, pool))
    return components
