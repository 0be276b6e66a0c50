"""Node classes: what nodes with equal hardware have in common.

Two nodes whose components have the same templates, names and order have one node class. They differ only
in their components' own values, such as serial numbers, and in the devices in use.
"""

from __future__ import annotations

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.nodes import Node
from scheduler_core.tables.component import CompiledPool, Component
from scheduler_core.tables.component_template import ComponentTemplate, DeviceListing

_POOL_STEP = 1 << 32  # more than any pool lists


@dataclass(frozen=True, slots=True, eq=False)
class NodeClass:
    """Shape: one entry per component of the node: its template, where its devices are listed among all of
    the node's (``ranks``), and the positions that the node may use.
    """

    templates: tuple[ComponentTemplate, ...]
    ranks: tuple[tuple[int, ...], ...]
    usable: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class NodeView:
    """A node with the components that it sees.

    Shape: ``components`` in the order of their first device; ``pools`` are those that concern the node,
           usable from it or not; ``is_compiled`` is False where a pool that is not in tables offers
           devices to the node, ``is_complete`` where slices are missing; ``is_sealed``: some claim
           reserves scopes of its devices; ``judges``: some device has a ``compatibleOnlyWith``
           expression.
    """

    node: Node
    node_class: NodeClass
    components: tuple[Component, ...]
    pools: tuple[CompiledPool, ...]
    is_compiled: bool
    is_complete: bool
    is_sealed: bool
    judges: bool


NodeClassKey = tuple[
    tuple[int, ...], tuple[ComponentTemplate, ...], tuple[DeviceListing, ...], tuple[int, ...]
]
"""Per component the number of its pool, its template, its device listing and the usable positions."""


def node_class_of(key: NodeClassKey) -> NodeClass:
    """Return a new node class."""
    pools, templates, layouts, usable = key
    ranks = tuple([
        tuple([pool * _POOL_STEP + place for place in layout.listed])
        for pool, layout in zip(pools, layouts, strict=True)
    ])  # fmt: skip
    return NodeClass(templates, ranks, usable)
