"""Blueprints: what a pool looked like that was compiled before.

Most pools of a cluster are the same machine once more. A pool whose devices are called as those of an
earlier one is compared with it, whole columns at a time: equal amounts, sources, parents, and equal values
of all attributes but those in which machines are known to differ. Only these are read. Where anything else
differs, the blueprint says so and the pool is read from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, is_, itemgetter
from typing import Any, Final

from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.pool import Pool
from scheduler_core.tables.component import Component
from scheduler_core.tables.component_reader import Nodes
from scheduler_core.tables.component_template import ComponentTemplate, DeviceListing
from scheduler_core.tables.structure_class import (
    AttributeGroup,
    Entry,
    StructureClass,
    is_constant,
    is_same,
)

_FACTS: Final = attrgetter(
    "capacity", "draws", "parents", "taints", "binding", "is_shareable", "policies", "only_with"
)
"""Everything about a device but its name, its attributes and from where it can be used."""
_Attributes = Mapping[QualifiedName, AttributeValue]
_Pick = Callable[[Any], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class _GroupColumns:
    """The same group of all components of one skeleton, one after the other.

    Shape: ``parts`` are the numbers of the components, ``size`` how many devices each has of the group;
           ``listed`` says where those are listed; ``fixed`` picks the values that must be those of
           ``rows``, ``odd`` the ones among them for which being equal is not enough; ``open`` the keys in
           which components differ, and whether devices of one component do too.
    """

    parts: tuple[int, ...]
    size: int
    listed: _Pick
    fixed: _Pick
    rows: list[tuple[AttributeValue, ...]]
    odd: _Pick
    odd_values: list[AttributeValue]
    open: tuple[tuple[QualifiedName, bool], ...]


class PoolTemplate:
    """A pool as it was read. Drawn only when a second one comes: a single machine needs none."""

    def __init__(self, pool: Pool, components: Sequence[Component]) -> None:
        self._templates = [one.template for one in components]
        self._layouts = [one.layout for one in components]
        self._varying = {
            one.template.structure_class: one.template.structure_class.varying for one in components
        }
        self._undrawn: Pool | None = pool

    def _draw(self, pool: Pool) -> None:
        self._undrawn = None
        self._sources = pool.sources
        self._facts = list(map(_FACTS, pool.devices))
        attributes: list[_Attributes] = [device.attributes for device in pool.devices]
        self._sizes = list(map(len, attributes))
        self._group_columns = list(_group_columns(self._templates, self._layouts, attributes))

    def read(self, pool: Pool) -> list[Component] | None:
        """Return the components of a pool whose devices have the same names, None where it differs."""
        if any(structure_class.varying is not varying for structure_class, varying in self._varying.items()):
            return None  # templates that leave more open have come since
        if self._undrawn is not None:
            self._draw(self._undrawn)
        if pool.sources != self._sources or list(map(_FACTS, pool.devices)) != self._facts:
            return None
        attributes: list[_Attributes] = [device.attributes for device in pool.devices]
        if list(map(len, attributes)) != self._sizes:
            return None
        owns: list[list[Entry]] = [[] for _ in self._templates]
        try:
            if not all(_reads(columns_of, attributes, owns) for columns_of in self._group_columns):
                return None
        except KeyError:
            return None
        nodes = [device.nodes for device in pool.devices]
        common = nodes[0] if nodes and nodes.count(nodes[0]) == len(nodes) else None
        return [
            Component(template, layout, tuple(own), common or _nodes(nodes, layout), pool.id)
            for template, layout, own in zip(self._templates, self._layouts, owns, strict=True)
        ]


def _reads(columns_of: _GroupColumns, attributes: Sequence[_Attributes], owns: Sequence[list[Entry]]) -> bool:
    """Add to the entries of each component those of the squad; False where it differs."""
    mine = columns_of.listed(attributes)
    if list(map(columns_of.fixed, mine)) != columns_of.rows:
        return False
    odd = list(chain.from_iterable(map(columns_of.odd, mine)))
    if not (all(map(is_, odd, columns_of.odd_values)) or all(map(is_same, odd, columns_of.odd_values))):
        return False
    for key, is_spread in columns_of.open:
        values = tuple([row[key] for row in mine])
        for number, part in enumerate(columns_of.parts):
            column = values[number * columns_of.size : (number + 1) * columns_of.size]
            if is_constant(column, column[0]) is is_spread:
                return False
            owns[part].append(column if is_spread else column[0])
    return True


def _group_columns(
    templates: Sequence[ComponentTemplate],
    layouts: Sequence[DeviceListing],
    attributes: Sequence[_Attributes],
) -> Iterator[_GroupColumns]:
    by_structure_class: dict[StructureClass, list[int]] = {}
    for number, template in enumerate(templates):
        by_structure_class.setdefault(template.structure_class, []).append(number)
    for structure_class, parts in by_structure_class.items():
        first = 0
        for group in structure_class.groups:
            listed = _listed(group, [layouts[part] for part in parts])
            rows = [attributes[index] for index in listed]
            yield _columns_of(
                structure_class, first, group, parts=tuple(parts), listed=_picker(listed), mine=rows
            )
            first += len(group.keys)


def _listed(group: AttributeGroup, layouts: Sequence[DeviceListing]) -> list[int]:
    return [layout.listed[position] for layout in layouts for position in group.positions]


def _columns_of(
    structure_class: StructureClass,
    first: int,
    group: AttributeGroup,
    *,
    parts: tuple[int, ...],
    listed: _Pick,
    mine: Sequence[_Attributes],
) -> _GroupColumns:
    """Return the squad of a group whose entries are numbered from ``first`` on."""
    is_open = [first + offset in structure_class.varying for offset in range(len(group.keys))]
    fixed = [key for key, differs in zip(group.keys, is_open, strict=True) if not differs]
    odd = [key for key in fixed if any(type(row[key]) is not str for row in mine)]
    spread = zip(group.keys, group.spread, is_open, strict=True)
    return _GroupColumns(
        parts=parts,
        size=len(group.positions),
        listed=listed,
        fixed=_picker(fixed),
        rows=list(map(_picker(fixed), mine)),
        odd=_picker(odd),
        odd_values=list(chain.from_iterable(map(_picker(odd), mine))),
        open=tuple((key, is_spread) for key, is_spread, differs in spread if differs),
    )


def _nodes(nodes: Sequence[NodeSelection], layout: DeviceListing) -> Nodes:
    """Return from where the devices of a component can be used."""
    mine = tuple([nodes[index] for index in layout.listed])
    return mine[0] if mine.count(mine[0]) == len(mine) else mine


def _picker(keys: Sequence[Any]) -> _Pick:
    """Return what picks the values of some keys. Raises: KeyError when one is missing."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda row: tuple([row[key] for key in keys])
