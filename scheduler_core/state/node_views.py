"""Which pools a node sees, and the node's components in order.

A pool whose devices all belong to named nodes concerns only those nodes. Every other pool is *shared*: it
is offered to every node. A view is made at the first call, and dropped when one of its pools changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from scheduler_core.base.features import ALL, Features
from scheduler_core.model.nodes import Node, OnNode, SliceSelection, admits
from scheduler_core.model.pool import Pool
from scheduler_core.state.node_class import NodeClass, NodeClassKey, NodeView, node_class_of
from scheduler_core.tables.bits import mask_of
from scheduler_core.tables.component import CompiledPool, Component

PoolKey = tuple[str, str]
"""Driver and name."""
Kept = CompiledPool | Pool
"""A compiled pool, or the pool as it was published where the tables do not cover it."""


def pool_key(pool: Kept) -> PoolKey:
    """Return the driver and the name of a pool."""
    return pool.id.driver, pool.id.name


class NodeViews:
    """The nodes, their pools and their views. ``dropped`` is called for every view that is dropped."""

    def __init__(self, dropped: Callable[[NodeView], None], features: Features = ALL) -> None:
        self._dropped = dropped
        self._features = features
        self._nodes: dict[str, Node] = {}
        self._pools: dict[PoolKey, Kept] = {}
        self._owners: dict[PoolKey, frozenset[str] | None] = {}
        self._local: dict[str, set[PoolKey]] = {}
        self._shared: set[PoolKey] = set()
        self._several: set[PoolKey] = set()
        self._node_views: dict[str, NodeView] = {}
        self._names: tuple[str, ...] = ()
        self._are_named = True
        self._node_classes: dict[NodeClassKey, NodeClass] = {}
        self._sealed: Counter[PoolKey] = Counter()

    def set_node(self, node: Node) -> None:
        """Set the labels of a node."""
        self._nodes[node.name] = node

    def remove_node(self, name: str) -> None:
        """Forget the labels of a node, if it is known. Its pools stay until their slices are removed."""
        if self._nodes.pop(name, None) is not None:
            self._drop((name,))

    def node(self, name: str) -> Node:
        """Return a node with its labels, without labels where it is not known."""
        return self._nodes.get(name) or Node(name)

    def is_present(self, name: str) -> bool:
        """Whether there is a Node object of this name."""
        return name in self._nodes

    @property
    def pools(self) -> tuple[Kept, ...]:
        """Return all pools, by driver and name."""
        return tuple(self._pools[key] for key in sorted(self._pools))

    def get(self, pool: PoolKey) -> Kept | None:
        """Return a pool, None where it is not known."""
        return self._pools.get(pool)

    def compiled(self, pool: PoolKey) -> CompiledPool | None:
        """Return a compiled pool, None where the pool is not known or not compiled."""
        found = self._pools.get(pool)
        return found if isinstance(found, CompiledPool) else None

    def put(self, pool: Kept) -> None:
        """Add a pool, or replace the one of that identity."""
        key = pool_key(pool)
        self.remove(key)
        owners = _owners(pool)
        self._pools[key] = pool
        self._owners[key] = owners
        for name in owners or ():
            if name not in self._local:
                self._local[name], self._are_named = set(), False
            self._local[name].add(key)
        if owners is None:
            self._shared.add(key)
        if owners is None or len(owners) > 1:
            self._several.add(key)
        self._drop(owners)

    def remove(self, pool: PoolKey) -> None:
        """Remove a pool, if it is known."""
        if self._pools.pop(pool, None) is None:
            return
        owners = self._owners.pop(pool)
        for name in owners or ():
            self._local[name].discard(pool)
            if not self._local[name]:
                del self._local[name]
                self._are_named = False
        self._shared.discard(pool)
        self._several.discard(pool)
        self._drop(owners)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the nodes that own a pool, by name: the same object until they change."""
        if not self._are_named:
            names, self._are_named = tuple(sorted(self._local)), True
            if names != self._names:
                self._names = names
        return self._names

    @property
    def has_shared(self) -> bool:
        """Whether there is a pool that is not owned by named nodes."""
        return bool(self._shared)

    @property
    def has_several(self) -> bool:
        """Whether several nodes may use some pool."""
        return bool(self._several)

    def is_of_several(self, pool: PoolKey) -> bool:
        """Whether several nodes may use a pool: its devices, or counters from which devices of each draw."""
        return pool in self._several

    def owners(self, pool: PoolKey) -> Iterable[str]:
        """Return the nodes that a pool belongs to, none where it is shared."""
        return self._owners.get(pool) or ()

    def seal(self, pools: Iterable[PoolKey], sign: int) -> None:
        """Count one more claim that reserves scopes of some pools (``sign`` 1), or one less (-1)."""
        for pool in pools:
            self._sealed[pool] += sign
            if pool in self._owners:
                self._drop(self._owners[pool])

    def concerned(self, node: Node) -> list[Kept]:
        """Return the pools that may concern a node, by driver and name."""
        return [self._pools[pool] for pool in sorted(self._local.get(node.name, set()) | self._shared)]

    def node_view(self, node: Node) -> NodeView:
        """Return the node with its components. Labels count only where a pool is shared."""
        found = self._node_views.get(node.name)
        if found is not None and (found.node is node or not self._shared or found.node == node):
            return found
        if found is not None:
            self._drop((node.name,))
        found = self._node_views[node.name] = self._made(node)
        return found

    def _made(self, node: Node) -> NodeView:
        entries: list[tuple[int, Component, int]] = []
        compiled: list[CompiledPool] = []
        is_compiled = is_complete = True
        for number, pool in enumerate(sorted(self.concerned(node), key=lambda one: _waits(one, node))):
            if isinstance(pool, Pool):
                seen = pool.as_seen_from(node)
                is_compiled = is_compiled and not _offers(seen, node)
                is_complete = is_complete and (seen.is_complete or not seen.is_seen_from(node))
                continue
            compiled.append(pool)
            entries += [(number, one, usable) for one, usable in self._usable(pool, node) if usable]
        key = (
            tuple([pool for pool, _, _ in entries]),
            tuple([one.template for _, one, _ in entries]),
            tuple([one.layout for _, one, _ in entries]),
            tuple([usable for _, _, usable in entries]),
        )
        node_class = self._node_classes.get(key)
        if node_class is None:
            node_class = self._node_classes[key] = node_class_of(key)
        return NodeView(
            node=node,
            node_class=node_class,
            components=tuple([component for _, component, _ in entries]),
            pools=tuple(compiled),
            is_compiled=is_compiled,
            is_complete=is_complete,
            is_sealed=any(self._sealed[pool.id.driver, pool.id.name] for pool in compiled),
            judges=any(one.template.structure_class.judges for pool in compiled for one in pool.components),
        )

    def _usable(self, pool: CompiledPool, node: Node) -> Iterable[tuple[Component, int]]:
        """Return the components with the positions that may be offered to a node."""
        found = _admitted(pool, node)
        if self._features == ALL:
            return found
        return [(one, mask & one.template.structure_class.enabled(self._features)) for one, mask in found]

    def _drop(self, names: Iterable[str] | None) -> None:
        """Drop the views of some nodes, of all nodes where None."""
        for name in list(self._node_views) if names is None else names:
            node_view = self._node_views.pop(name, None)
            if node_view is not None:
                self._dropped(node_view)


def restored(pool: Kept) -> Pool:
    """Return a pool as it was published."""
    return pool.restored() if isinstance(pool, CompiledPool) else pool


def _owners(pool: Kept) -> frozenset[str] | None:
    """Return the nodes that a pool concerns by name, None where it may concern others."""
    names = set()
    for selection in _selections(pool):
        if not isinstance(selection, OnNode):
            return None
        names.add(selection.name)
    return frozenset(names)


def _selections(pool: Kept) -> Iterator[SliceSelection]:
    yield from pool.seen_from
    yield from (rejected.device.nodes for rejected in pool.rejected.values())
    if isinstance(pool, CompiledPool):
        for component in pool.components:
            yield from component.nodes if isinstance(component.nodes, tuple) else (component.nodes,)
        return
    yield from (device.nodes for device in pool.devices)
    if pool.older is not None:
        yield from _selections(pool.older)


def _waits(pool: Kept, node: Node) -> bool:
    """Whether a device that the node sees has binding conditions: such pools are tried last."""
    return (
        isinstance(pool, CompiledPool)
        and pool.waits
        and any(usable & one.template.structure_class.waiting for one, usable in _admitted(pool, node))
    )


def _admitted(pool: CompiledPool, node: Node) -> Iterable[tuple[Component, int]]:
    """Return the components with the positions that a node may use, in the order of their first device."""
    common = pool.selection
    if common is None:
        return [(one, _usable_of(one, node)) for one in pool.components]
    return [(one, one.template.tables.everything) for one in pool.components] if admits(common, node) else ()


def _usable_of(component: Component, node: Node) -> int:
    if not isinstance(component.nodes, tuple):
        return component.template.tables.everything if admits(component.nodes, node) else 0
    return mask_of(number for number, nodes in enumerate(component.nodes) if admits(nodes, node))


def _offers(pool: Pool, node: Node) -> bool:
    """Whether the plain search would offer a device of the pool."""
    if pool.problem is not None or not pool.is_complete:
        return False
    return any(admits(device.nodes, node) for device in pool.devices)
