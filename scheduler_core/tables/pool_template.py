"""Pool templates: reads a pool faster by comparing it with an equal pool that was read before.

Most pools of a cluster are one machine type again and again. A pool whose devices have the same names as
the template's is compared with it, a whole column of values at a time. Amounts, sources, parents and all
attributes must be equal, except the attributes in which such machines are known to differ; only these are
read. Where anything else differs, ``read`` returns None and the pool is read without a template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter, is_, itemgetter
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.pool import Pool
from scheduler_core.tables.component import Component
from scheduler_core.tables.component_reader import Nodes
from scheduler_core.tables.component_template import ComponentTemplate, DeviceListing
from scheduler_core.tables.entries import Entry, is_constant, is_same
from scheduler_core.tables.structure_class import AttributeGroup, StructureClass

_FACTS: Final = attrgetter(
    "capacity", "draws", "parents", "taints", "binding", "is_shareable", "policies", "only_with"
)
"""Everything about a device except its name, its attributes and its node selection."""
_Attributes = Mapping[QualifiedName, AttributeValue]
_Pick = Callable[[Any], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class _GroupColumns:
    """One attribute group of all components of one structure class, as columns.

    Shape: ``parts`` the numbers of the components, ``size`` how many devices of each are in the group;
           ``listed`` returns these devices out of all devices of the pool; ``fixed`` returns the values of
           a device that must equal those in ``rows``; ``uncertain`` returns the ones among them for which
           ``==`` is not enough, and ``uncertain_values`` has what they must be; ``open`` the keys in which
           components differ, each with whether it is per device.
    """

    parts: tuple[int, ...]
    size: int
    listed: _Pick
    fixed: _Pick
    rows: list[tuple[AttributeValue, ...]]
    uncertain: _Pick
    uncertain_values: list[AttributeValue]
    open: tuple[tuple[QualifiedName, bool], ...]


class PoolTemplate:
    """A pool as it was read. The columns are built when a second pool comes: one pool alone needs none."""

    def __init__(self, pool: Pool, components: Sequence[Component]) -> None:
        self._templates = [one.template for one in components]
        self._layouts = [one.layout for one in components]
        self._varying = {
            one.template.structure_class: one.template.structure_class.varying for one in components
        }
        self._unbuilt: Pool | None = pool

    def _build(self, pool: Pool) -> None:
        self._unbuilt = None
        self._sources = pool.sources
        self._facts = list(map(_FACTS, pool.devices))
        attributes: list[_Attributes] = [device.attributes for device in pool.devices]
        self._sizes = list(map(len, attributes))
        self._group_columns = list(_group_columns(self._templates, self._layouts, attributes))

    def read(self, pool: Pool) -> list[Component] | None:
        """Return the components of a pool whose devices have the same names, None where more differs."""
        if any(structure_class.varying is not varying for structure_class, varying in self._varying.items()):
            return None  # components came that differ in more entries: these templates are out of date
        if self._unbuilt is not None:
            self._build(self._unbuilt)
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
    """Add the values of a group to the own entries of each component. Return False where a value differs."""
    mine = columns_of.listed(attributes)
    if list(map(columns_of.fixed, mine)) != columns_of.rows:
        return False
    uncertain = list(chain.from_iterable(map(columns_of.uncertain, mine)))
    if not (
        all(map(is_, uncertain, columns_of.uncertain_values))
        or all(map(is_same, uncertain, columns_of.uncertain_values))
    ):
        return False
    for key, is_per_device in columns_of.open:
        values = tuple([row[key] for row in mine])
        for number, part in enumerate(columns_of.parts):
            column = values[number * columns_of.size : (number + 1) * columns_of.size]
            if is_constant(column, column[0]) is is_per_device:
                return False
            owns[part].append(column if is_per_device else column[0])
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
    """Return the columns of a group whose entries are numbered from ``first`` on."""
    is_open = [first + offset in structure_class.varying for offset in range(len(group.keys))]
    fixed = [key for key, differs in zip(group.keys, is_open, strict=True) if not differs]
    uncertain = [key for key in fixed if any(type(row[key]) is not str for row in mine)]
    keys = zip(group.keys, group.per_device, is_open, strict=True)
    return _GroupColumns(
        parts=parts,
        size=len(group.positions),
        listed=listed,
        fixed=_picker(fixed),
        rows=list(map(_picker(fixed), mine)),
        uncertain=_picker(uncertain),
        uncertain_values=list(chain.from_iterable(map(_picker(uncertain), mine))),
        open=tuple((key, is_per_device) for key, is_per_device, differs in keys if differs),
    )


def _nodes(nodes: Sequence[NodeSelection], layout: DeviceListing) -> Nodes:
    """Return the node selection of the devices of a component, or one each where they differ."""
    mine = tuple([nodes[index] for index in layout.listed])
    return mine[0] if mine.count(mine[0]) == len(mine) else mine


def _picker(keys: Sequence[Any]) -> _Pick:
    """Return a function that returns the values of some keys, or raises KeyError where one is missing."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda row: tuple([row[key] for key in keys])
