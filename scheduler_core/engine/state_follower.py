"""Observes a cluster state for an engine, and updates the engine's totals and caches at every change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scheduler_core.engine.compiled_claims import CompiledClaims
from scheduler_core.engine.feasibility_cache import FeasibilityCache
from scheduler_core.engine.node_order import NodeOrder
from scheduler_core.engine.policy.policies import Chooser
from scheduler_core.engine.result_writer import ResultWriter
from scheduler_core.model.claim import DeviceClass
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.component import Component


class StateFollower:
    """The observer of one state for one engine."""

    def __init__(
        self,
        chooser: Chooser,
        compiled_claims: CompiledClaims,
        feasibility: FeasibilityCache,
        order: NodeOrder,
        writer: ResultWriter,
    ) -> None:
        self._chooser = chooser
        self._compiled_claims = compiled_claims
        self._feasibility = feasibility
        self._order = order
        self._writer = writer

    def component_entered(self, component: Component) -> None:
        """Add the component to the policy's totals."""
        self._chooser.entered(component)

    def component_left(self, component: Component) -> None:
        """Remove the component from the policy's totals."""
        self._chooser.left(component)

    def component_moved(self, component: Component, before: int) -> None:
        """Update the policy's totals."""
        self._chooser.moved(component, before)

    def view_dropped(self, node_view: NodeView) -> None:
        """Forget everything that was computed for the node."""
        self._compiled_claims.forget(node_view)
        self._feasibility.changed((node_view.node.name,))
        self._order.published(node_view.node.name)

    def devices_taken(self, nodes: Iterable[str]) -> None:
        """Mark the claims that fitted on these nodes as unknown."""
        self._feasibility.taken(nodes)
        self._order.changed(nodes)

    def devices_given(self, nodes: Iterable[str]) -> None:
        """Mark the claims that did not fit on these nodes as unknown."""
        self._feasibility.given(nodes)
        self._order.changed(nodes)

    def classes_changed(self, classes: Mapping[str, DeviceClass]) -> None:
        """Forget every compiled claim: each was compiled with the classes."""
        self._writer.set_classes(classes)
        self._compiled_claims.set_classes(classes)
