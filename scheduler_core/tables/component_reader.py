"""Reads one component: flat devices in, a structure class, entries and a device listing out.

This runs once for every device of a cluster, so some steps are written for speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import AttributeValue, Device, DeviceName, QualifiedName, SourceName
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.pool import Pool
from scheduler_core.tables.component_template import DeviceListing
from scheduler_core.tables.entries import Entries, Entry, Keys, differing
from scheduler_core.tables.intern_tables import FactsKey, InternTables, Marks
from scheduler_core.tables.structure_class import NO_BINDING, AttributeGroup, StructureClass

Nodes = NodeSelection | tuple[NodeSelection, ...]
"""One node selection for all devices, or one each."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadComponent:
    """A component as read: its values are not yet split between a template and the component."""

    structure_class: StructureClass
    entries: Entries
    layout: DeviceListing
    nodes: Nodes


class ComponentReader:
    """Reads the components of one pool.

    A mapping of amounts is hashed once per object: pools that are made from mixins use one object many times.
    Objects are recognised by id, so a reader must not outlive the pool.
    """

    def __init__(self, pool: Pool, intern_tables: InternTables) -> None:
        self._pool = pool
        self._intern_tables = intern_tables
        self._numbers: dict[int, int] = {}

    def read(self, members: Sequence[int]) -> ReadComponent:
        """Read one component."""
        listed = self._pool.devices
        devices = [listed[index] for index in members]
        names = tuple([device.name for device in devices])
        sources: dict[SourceName, int] = {}
        device_facts = self._device_facts(devices, names, sources)
        numbers = tuple([self._number(self._pool.sources[source]) for source in sources])
        groups, entries = _groups(devices)
        structure_class = self._intern_tables.structure_class(
            (self._pool.id.driver, device_facts, numbers, groups)
        )
        layout = self._intern_tables.layout(names, tuple(sources), tuple(members))
        return ReadComponent(structure_class, entries, layout, selection_of(devices))

    def _device_facts(
        self, devices: Sequence[Device], names: Sequence[DeviceName], sources: dict[SourceName, int]
    ) -> tuple[FactsKey, ...]:
        device_facts, known, number_of = [], self._numbers.get, self._number
        position_of: dict[DeviceName, int] = {}
        usual = devices[0].binding if devices[0].binding == NO_BINDING else NO_BINDING
        for device in devices:
            capacity = known(id(device.capacity))
            draws = []
            for draw in device.draws:
                source = sources.setdefault(draw.source, len(sources))
                amounts = known(id(draw.amounts))
                draws.append((source, number_of(draw.amounts) if amounts is None else amounts, draw.groups))
            parents: tuple[int, ...] = ()
            if device.parents:
                position_of = position_of or {name: position for position, name in enumerate(names)}
                parents = tuple([position_of[parent] for parent in device.parents])
            is_marked = device.taints or device.is_shareable or device.policies or device.binding is not usual
            is_marked = is_marked or device.only_with is not None
            device_facts.append((
                number_of(device.capacity) if capacity is None else capacity,
                tuple(draws),
                parents,
                _marks(device) if is_marked else None,
            ))  # fmt: skip
        return tuple(device_facts)

    def _number(self, amounts: Mapping[str, Quantity] | Mapping[QualifiedName, Quantity]) -> int:
        number = self._numbers[id(amounts)] = self._intern_tables.number(amounts)
        return number


def _marks(device: Device) -> Marks | None:
    """Return the taints, binding and sharing of a device; None for a device that has none of them."""
    binding = device.binding
    is_bound = binding.conditions or binding.failure_conditions or binding.to_node
    if not (device.taints or device.is_shareable or device.policies or is_bound or device.only_with):
        return None
    return device.taints, binding, device.is_shareable, tuple(device.policies.items()), device.only_with


def _groups(devices: Sequence[Device]) -> tuple[tuple[AttributeGroup, ...], Entries]:
    """Return the attribute groups of some devices, and the entries of all groups in that order."""
    found: dict[Keys, tuple[list[int], list[tuple[AttributeValue, ...]]]] = {}
    pick: Callable[[Any], tuple[AttributeValue, ...]] = tuple
    size = -1
    for position, attributes in enumerate([device.attributes for device in devices]):
        try:  # most devices have the keys of the device before
            row = pick(attributes) if len(attributes) == size else None
        except KeyError:
            row = None
        if row is None:
            keys, row = tuple(attributes), tuple(attributes.values())
            positions, rows = found.setdefault(keys, ([], []))
            pick, size = (itemgetter(*keys), len(keys)) if len(keys) > 1 else (tuple, -1)
        positions.append(position)
        rows.append(row)
    groups, entries = [], list[Entry]()
    for keys, (positions, rows) in found.items():
        columns = list(zip(*rows, strict=True))
        per_device = differing(columns) if len(rows) > 1 else [False] * len(columns)
        pairs = zip(columns, per_device, strict=True)
        entries += [column if differs else column[0] for column, differs in pairs]
        groups.append(AttributeGroup(keys, tuple(positions), tuple(per_device)))
    return tuple(groups), tuple(entries)


def selection_of(devices: Sequence[Device]) -> Nodes:
    """Return the node selection of all devices, or one each where they differ."""
    first = devices[0].nodes
    nodes = [device.nodes for device in devices]
    return first if nodes.count(first) == len(nodes) else tuple(nodes)
