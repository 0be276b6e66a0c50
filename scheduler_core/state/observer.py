"""The observers of a cluster state: they are called at every change, for example to update caches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from scheduler_core.model.claim import DeviceClass
from scheduler_core.state.assignments import PoolKey
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.component import Component


class StateObserver(Protocol):
    """The methods are called during the change. They must not change the state."""

    def component_entered(self, component: Component) -> None:
        """A component was added. Calls of ``component_moved`` follow for what claims hold of it."""
        ...

    def component_left(self, component: Component) -> None:
        """A component was removed. No further calls name it."""
        ...

    def component_moved(self, component: Component, before: int) -> None:
        """The state of a component changed. It was ``before``."""
        ...

    def view_dropped(self, node_view: NodeView) -> None:
        """The pools of a node changed, and its view was dropped."""
        ...

    def devices_taken(self, nodes: Iterable[str]) -> None:
        """A claim took devices of a pool. Shape: ``nodes`` own the pool; none where it is shared."""
        ...

    def devices_given(self, nodes: Iterable[str]) -> None:
        """A claim released devices of a pool. Shape: as in ``devices_taken``."""
        ...

    def classes_changed(self, classes: Mapping[str, DeviceClass]) -> None:
        """The device classes changed to ``classes``."""
        ...


class PoolObserver(Protocol):
    """Is told what may have changed, pool by pool. As above, called during the change."""

    def pool_changed(self, pool: PoolKey) -> None:
        """A pool came, was replaced or went."""
        ...

    def pool_held(self, pool: PoolKey) -> None:
        """A claim took devices of a pool or gave them back."""
        ...

    def node_changed(self, name: str) -> None:
        """A Node object came, changed or went."""
        ...
