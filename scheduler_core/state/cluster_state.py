"""The state of a cluster: pools, device classes, nodes and claims, updated event by event.

A changed slice rebuilds only its pool. A changed claim updates only the bits of its devices. The order of
events does not matter. Where slices of both dialects form one pool, the composite pool is used while it is
complete and valid, otherwise the v1 pool (docs/decisions/0035-cluster-state.md). A state that projects
composite pools uses the v1 pool wherever there is one. Only one thread may use a state at a time. A state
does no I/O and reads no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from scheduler_core.base.features import ALL, Features
from scheduler_core.codec.v1 import V1Slice
from scheduler_core.model.claim import AllocatedClaim, DeviceClass
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.state.assignments import Assignments, Holder, holder_of
from scheduler_core.state.node_class import NodeView
from scheduler_core.state.node_views import Kept, NodeViews, pool_key, restored
from scheduler_core.state.observer import PoolObserver, StateObserver
from scheduler_core.state.published_pools import PublishedPools
from scheduler_core.state.slice_forms import CompositeForm, EmptiedSlice, ProjectedForm, V1Form
from scheduler_core.tables.component import Component
from scheduler_core.tables.pool_compiler import PoolCompiler

Slice = CompositeSlice | V1Slice
_AnyPool = TypeVar("_AnyPool", bound=Kept)


class ClusterState:
    """What is known about a cluster.

    Shape: ``classes`` by name, a new mapping after each change; with ``projects`` composite pools count as
           the v1 pools that they stand for, where no v1 slice of the pool is known.
    """

    def __init__(
        self,
        classes: Mapping[str, DeviceClass] | None = None,
        features: Features = ALL,
        *,
        projects: bool = False,
    ) -> None:
        self.features = features
        self.classes: Mapping[str, DeviceClass] = dict(classes or {})
        self.views = NodeViews(self._view_dropped, features)
        self.assignments = Assignments(self.views.compiled, self._component_moved)
        self._compiler = PoolCompiler(features)
        self._given: dict[PoolId, Kept] = {}
        self._projects = projects
        form = ProjectedForm() if projects else CompositeForm()
        self._composite = PublishedPools[CompositeSlice, CompositeSlice](form, self._compiler)
        self._v1 = PublishedPools[V1Slice, V1Slice | EmptiedSlice](V1Form(), self._compiler)
        self._observers: list[StateObserver] = []
        self._pool_observers: list[PoolObserver] = []

    @classmethod
    def of(cls, cluster: Cluster) -> ClusterState:
        """Return a state with the contents of a ``Cluster`` value."""
        state = cls(cluster.classes, cluster.features)
        for pool in cluster.pools:
            state.set_pool(pool)
        for claim in cluster.allocated:
            state.hold(claim)
        return state

    def subscribe(self, observer: StateObserver) -> None:
        """Report everything known to an observer now, and from then on every change."""
        observer.classes_changed(self.classes)
        for component in _components(self.views.pools):
            observer.component_entered(component)
        self._observers.append(observer)

    def follow_pools(self, observer: PoolObserver) -> None:
        """Report every pool to an observer now, and from then on every pool and node that changes."""
        for pool in self.views.pools:
            observer.pool_changed(pool_key(pool))
        self._pool_observers.append(observer)

    def upsert_slices(self, slices: Iterable[Slice]) -> None:
        """Add slices, or replace those with the same name and dialect.

        Slices of one pool that follow each other, as in a list of the API server, are added together.
        """
        for (kind, _), group in groupby(slices, key=lambda one: (type(one), one.pool)):
            if kind is CompositeSlice:
                changed = self._composite.upsert(one for one in group if isinstance(one, CompositeSlice))
            else:
                changed = self._v1.upsert(one for one in group if isinstance(one, V1Slice))
            self._settle(changed)

    def remove_composite_slice(self, name: str) -> None:
        """Remove a slice of the composite dialect, if it is known."""
        self._settle(self._composite.remove(name))

    def remove_v1_slice(self, name: str) -> None:
        """Remove a slice of the v1 dialect, if it is known."""
        self._settle(self._v1.remove(name))

    def set_pool(self, pool: Pool) -> None:
        """Add or replace a pool that is not made of slices. It replaces slices of that identity."""
        usable = pool.with_features(self.features)
        self._given[pool.id] = self._compiler.compile_if_regular(usable) or usable
        self._settle((pool.id,))

    def remove_pool(self, pool: PoolId) -> None:
        """Remove a pool that ``set_pool`` added, if it is known."""
        self._given.pop(pool, None)
        self._settle((pool,))

    def set_class(self, device_class: DeviceClass) -> None:
        """Add a device class, or replace the one of that name."""
        if self.classes.get(device_class.name) != device_class:
            self._set_classes({**self.classes, device_class.name: device_class})

    def remove_class(self, name: str) -> None:
        """Remove a device class, if it is known."""
        if name in self.classes:
            self._set_classes({key: found for key, found in self.classes.items() if key != name})

    def set_node(self, node: Node) -> None:
        """Set the labels of a node."""
        self.views.set_node(node)
        self._node_changed(node.name)

    def remove_node(self, name: str) -> None:
        """Forget the labels of a node, if it is known. Its pools stay until their slices are removed."""
        self.views.remove_node(name)
        self._node_changed(name)

    def hold(self, claim: AllocatedClaim) -> None:
        """Set what a claim holds; this replaces what the claim with its UID held before."""
        holder = holder_of(claim)
        known = self.assignments.get(holder)
        if known == claim:
            return
        if known is not None:
            self.release(holder)
        pools = self.assignments.add(claim)
        if claim.exclusive:
            self.views.seal(pools, 1)
        for pool in pools:
            owners = self.views.owners(pool)
            for observer in self._observers:
                observer.devices_taken(owners)
        self._pools_held(pools)

    def release(self, holder: Holder) -> None:
        """Give back what a claim holds. Raises: KeyError where it holds nothing."""
        known = self.assignments.get(holder)
        pools = self.assignments.remove(holder)
        if known is not None and known.exclusive:
            self.views.seal(pools, -1)
        for pool in pools:
            owners = self.views.owners(pool)
            for observer in self._observers:
                observer.devices_given(owners)
        self._pools_held(pools)

    def holders(self, device: DeviceId) -> tuple[AllocatedClaim, ...]:
        """Return the claims that hold a device: several if it is shareable, or by mistake."""
        return self.assignments.holding(device)

    def concerning(self, node: Node) -> tuple[AllocatedClaim, ...]:
        """Return the claims that hold devices of the pools that concern a node."""
        return self.assignments.concerning(map(pool_key, self.views.concerned(node)))

    def pools(self) -> Iterator[Pool]:
        """Yield every pool as it was published, by driver and name."""
        return map(restored, self.views.pools)

    def seen_from(self, node: Node) -> Cluster:
        """Return the pools, classes and claims that concern a node, as a value."""
        return self.with_pools([restored(pool) for pool in self.views.concerned(node)])

    def with_pools(self, pools: Sequence[Pool]) -> Cluster:
        """Return the cluster with these pools alone, and the claims that hold devices of them."""
        return Cluster(
            pools=tuple(pools),
            classes=self.classes,
            allocated=self.assignments.concerning(map(pool_key, pools)),
            features=self.features,
        )

    def _settle(self, pools: Iterable[PoolId]) -> None:
        """Use the effective pool of each identity, if it differs from the one before."""
        for pool in pools:
            key = (pool.driver, pool.name)
            composite, v1 = self._composite.get(pool), self._v1.get(pool)
            # Never both, or the same hardware would count twice. A v1 slice is what an API server has checked
            # and what other schedulers see; who reads projections wants nothing but what v1 slices would say.
            is_v1 = self._projects and v1 is not None
            published = v1 if is_v1 else effective(composite, v1)
            found = self._given.get(pool) or published
            if found is not self.views.get(key):
                self._leave(key)
                if found is not None:
                    self._enter(found)
                for observer in self._pool_observers:
                    observer.pool_changed(key)

    def _leave(self, key: tuple[str, str]) -> None:
        kept = self.views.compiled(key)
        if kept is not None:
            for component in kept.components:
                for observer in self._observers:
                    observer.component_left(component)
            self.assignments.withdraw(key)
        self.views.remove(key)

    def _enter(self, pool: Kept) -> None:
        for component in _components((pool,)):
            component.state = 0
            component.consumed.clear()
            for observer in self._observers:
                observer.component_entered(component)
        if not isinstance(pool, Pool):
            self.assignments.enter_all(pool)
        self.views.put(pool)

    def _set_classes(self, classes: Mapping[str, DeviceClass]) -> None:
        self.classes = classes
        for observer in self._observers:
            observer.classes_changed(classes)

    def _pools_held(self, pools: Iterable[tuple[str, str]]) -> None:
        for observer in self._pool_observers:
            for pool in pools:
                observer.pool_held(pool)

    def _node_changed(self, name: str) -> None:
        for observer in self._pool_observers:
            observer.node_changed(name)

    def _component_moved(self, component: Component, before: int) -> None:
        for observer in self._observers:
            observer.component_moved(component, before)

    def _view_dropped(self, node_view: NodeView) -> None:
        for observer in self._observers:
            observer.view_dropped(node_view)


def effective(composite: _AnyPool | None, v1: _AnyPool | None) -> _AnyPool | None:
    """Return which of two pools of one name is used: the composite one, if complete and valid."""
    is_usable = not isinstance(composite, Pool) or (composite.is_complete and composite.problem is None)
    return composite if composite is not None and (is_usable or v1 is None) else v1


def _components(pools: Iterable[Kept]) -> Iterator[Component]:
    """Yield the components of the compiled pools."""
    for pool in pools:
        if not isinstance(pool, Pool):
            yield from pool.components
