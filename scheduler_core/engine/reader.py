"""Read the devices of one component: its skeleton, its entries, its layout.

This runs for every device of a cluster; what is plain to read is not always fast enough here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import is_

from scheduler_core.engine.library import BodyKey, Library, Marks
from scheduler_core.engine.skeleton import Entries, Entry, Group, Keys, Skeleton, is_same
from scheduler_core.engine.template import Layout
from scheduler_core.model.device import AttributeValue, Device, DeviceName, QualifiedName, SourceName
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.pool import Pool
from scheduler_core.quantity import Quantity

Nodes = NodeSelection | tuple[NodeSelection, ...]
"""One selection for all devices, or one each."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A component as read."""

    skeleton: Skeleton
    entries: Entries
    layout: Layout
    nodes: Nodes


class Reader:
    """Reads the components of one pool. It lives as long as one compilation: ids stay unique.

    Mappings that are the same object are looked at once: pools made from mixins repeat them.
    """

    def __init__(self, pool: Pool, library: Library) -> None:
        self._pool = pool
        self._library = library
        self._numbers: dict[int, int] = {}

    def read(self, members: Sequence[int]) -> Found:
        """Read one component."""
        devices = [self._pool.devices[index] for index in members]
        names = tuple([device.name for device in devices])
        sources: dict[SourceName, int] = {}
        bodies = self._bodies(devices, dict(zip(names, range(len(names)), strict=True)), sources)
        numbers = tuple([self._number(self._pool.sources[source]) for source in sources])
        groups, entries = _groups(devices)
        skeleton = self._library.skeleton((self._pool.id.driver, bodies, numbers, groups))
        layout = self._library.layout(names, tuple(sources), tuple(members))
        return Found(skeleton, entries, layout, selection_of(devices))

    def _bodies(
        self, devices: Sequence[Device], position_of: Mapping[DeviceName, int], sources: dict[SourceName, int]
    ) -> tuple[BodyKey, ...]:
        bodies, known, number_of = [], self._numbers.get, self._number
        for device in devices:
            capacity = known(id(device.capacity))
            draws = []
            for draw in device.draws:
                source = sources.setdefault(draw.source, len(sources))
                amounts = known(id(draw.amounts))
                draws.append((source, number_of(draw.amounts) if amounts is None else amounts, draw.groups))
            bodies.append((
                number_of(device.capacity) if capacity is None else capacity,
                tuple(draws),
                tuple([position_of[parent] for parent in device.parents]),
                _marks(device),
            ))  # fmt: skip
        return tuple(bodies)

    def _number(self, amounts: Mapping[str, Quantity] | Mapping[QualifiedName, Quantity]) -> int:
        number = self._numbers[id(amounts)] = self._library.number(amounts)
        return number


def _marks(device: Device) -> Marks | None:
    """Return what few devices have: taints, something to wait for, shares; None for all others."""
    binding = device.binding
    is_bound = binding.conditions or binding.failure_conditions or binding.to_node
    if not (device.taints or device.is_shareable or device.policies or is_bound):
        return None
    return device.taints, binding, device.is_shareable, tuple(device.policies.items())


def _groups(devices: Sequence[Device]) -> tuple[tuple[Group, ...], Entries]:
    """Return the devices with the same attribute keys as groups, and the entries of all groups."""
    rows: dict[Keys, list[tuple[AttributeValue, ...]]] = {}
    places: dict[Keys, list[int]] = {}
    for position, device in enumerate(devices):
        keys = tuple(device.attributes)
        rows.setdefault(keys, []).append(tuple(device.attributes.values()))
        places.setdefault(keys, []).append(position)
    groups, entries = [], list[Entry]()
    for keys, mine in rows.items():
        found = list(columns(mine))
        groups.append(Group(keys, tuple(places[keys]), tuple([is_spread for _, is_spread in found])))
        entries += [entry for entry, _ in found]
    return tuple(groups), tuple(entries)


def columns(rows: Sequence[tuple[AttributeValue, ...]]) -> Iterator[tuple[Entry, bool]]:
    """Yield, column by column, the value that all rows have, or all values; and whether they differ."""
    for column in zip(*rows, strict=True):
        first = column[0]
        if is_constant(column, first):
            yield first, False
        else:
            yield column, True


def is_constant(column: tuple[AttributeValue, ...], first: AttributeValue) -> bool:
    """Whether no expression could tell the values of a column from its first one."""
    if type(first) is str:
        return column.count(first) == len(column)
    return all(map(is_, column, repeat(first))) or all(map(is_same, column, repeat(first)))


def selection_of(devices: Sequence[Device]) -> Nodes:
    """Return from where devices can be used."""
    first = devices[0].nodes
    for device in devices:
        if device.nodes is not first and device.nodes != first:
            return tuple([device.nodes for device in devices])
    return first
