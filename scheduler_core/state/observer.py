"""What a cluster state tells those who keep something that they worked out from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from scheduler_core.model.claim import DeviceClass
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.component import Component


class StateObserver(Protocol):
    """Is called within the change. It must not change the state."""

    def component_entered(self, component: Component) -> None:
        """A component can be allocated from; what claims hold of it is still to come."""
        ...

    def component_left(self, component: Component) -> None:
        """A component is gone. Nothing more is told of it."""
        ...

    def component_moved(self, component: Component, before: int) -> None:
        """The state of a component was ``before`` and is another now."""
        ...

    def view_dropped(self, node_view: NodeView) -> None:
        """A node sees other pools now; its view is made anew when it is asked for."""
        ...

    def devices_taken(self, nodes: Iterable[str]) -> None:
        """A claim took devices of a pool. Shape: the nodes that own the pool, none where it is shared."""
        ...

    def devices_given(self, nodes: Iterable[str]) -> None:
        """A claim gave devices back."""
        ...

    def classes_changed(self, classes: Mapping[str, DeviceClass]) -> None:
        """The device classes are these now."""
        ...
