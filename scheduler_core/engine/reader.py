"""Read the devices of one component: its skeleton, its values, its layout.

Mappings that are the same object are looked at once: pools made from mixins repeat them. This runs for
every device of a cluster; what is plain to read is not always fast enough here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler_core.engine.library import BodyKey, Library
from scheduler_core.engine.skeleton import Keys, Skeleton, Values
from scheduler_core.engine.template import Layout
from scheduler_core.model.device import AttributeValue, Device, DeviceName, QualifiedName, SourceName
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.pool import Pool
from scheduler_core.quantity import Quantity


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """What devices say of themselves."""

    keys: Keys
    values: Values


class Found:
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


class Reader:
    """Reads the components of one pool. It lives as long as one compilation: ids stay unique."""

    def __init__(self, pool: Pool, library: Library) -> None:
        self._pool = pool
        self._library = library
        self._numbers: dict[int, int] = {}
        self._contents: dict[tuple[tuple[str, ...], tuple[int, ...]], int] = {}
        self._looks: dict[int, _Look] = {}

    def read(self, members: Sequence[int]) -> Found:
        """Read one component."""
        devices = [self._pool.devices[index] for index in members]
        names = tuple([device.name for device in devices])
        sources: dict[SourceName, int] = {}
        bodies = self._bodies(devices, dict(zip(names, range(len(names)), strict=True)), sources)
        groups, values = self._groups(devices)
        numbers = tuple([self._number(self._pool.sources[source]) for source in sources])
        skeleton = self._library.skeleton((self._pool.id.driver, bodies, numbers, groups))
        layout = self._library.layout(Layout(names, tuple(sources), tuple(members)))
        return Found(skeleton, values, layout, _selection(devices))

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
                draws.append((source, number_of(draw.amounts) if amounts is None else amounts))
            bodies.append(
                (
                    number_of(device.capacity) if capacity is None else capacity,
                    tuple(draws),
                    tuple([position_of[parent] for parent in device.parents]),
                )
            )
        return tuple(bodies)

    def _number(self, amounts: Mapping[str, Quantity] | Mapping[QualifiedName, Quantity]) -> int:
        content = (tuple(amounts), tuple(map(id, amounts.values())))
        number = self._contents.get(content)
        if number is None:
            number = self._contents[content] = self._library.amounts(amounts)
        self._numbers[id(amounts)] = number
        return number

    def _groups(self, devices: Sequence[Device]) -> tuple[tuple[tuple[Keys, int], ...], Values]:
        """Return the devices with the same attributes as groups, and the values of all groups."""
        masks: dict[_Look, int] = {}
        bit = 1
        for device in devices:
            look = self._looks.get(id(device.attributes)) or self._look(device.attributes)
            masks[look] = masks.get(look, 0) | bit
            bit <<= 1
        groups = tuple([(look.keys, mask) for look, mask in masks.items()])
        return groups, tuple([value for look in masks for value in look.values])

    def _look(self, attributes: Mapping[QualifiedName, AttributeValue]) -> _Look:
        found = self._looks[id(attributes)] = _Look(tuple(attributes), tuple(attributes.values()))
        return found


def _selection(devices: Sequence[Device]) -> NodeSelection | tuple[NodeSelection, ...]:
    first = devices[0].nodes
    for device in devices:
        if device.nodes is not first and device.nodes != first:
            break
    else:
        return first
    return tuple(device.nodes for device in devices)
