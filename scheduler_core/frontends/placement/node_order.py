"""The nodes of a cluster, those with the fewest free GPUs first, so that whole nodes stay free.

What a node has free is counted again when its devices changed.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.model.claim import DeviceClass
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.component import Component


class FreeGpuOrder:
    """The nodes that own a pool, by free GPUs and then by name. It observes the placer's state."""

    def __init__(self, placer: PodPlacer) -> None:
        self._placer = placer
        self._views = placer.state.views
        self._names: tuple[str, ...] = ()
        self._gpus: dict[str, tuple[int, int]] = {}
        self._ranked: list[tuple[int, str]] = []
        self._changed: set[str] = set()
        placer.state.subscribe(self)

    def split(self, least: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return the nodes with at least so many free GPUs, in order, and the others."""
        self._update()
        start = bisect_left(self._ranked, (least, ""))
        enough = [name for _, name in self._ranked[start:]]
        return enough, [name for _, name in self._ranked[:start]]

    def gpus(self, name: str) -> tuple[int, int]:
        """Return how many GPUs of a node are free as a whole and how many it has, as of ``split``."""
        return self._gpus[name]

    def _update(self) -> None:
        if self._views.names is not self._names:
            self._names = self._views.names
            known = set(self._names)
            self._changed |= known - self._gpus.keys()
            self._gpus = {name: gpus for name, gpus in self._gpus.items() if name in known}
            self._ranked = sorted((free, name) for name, (free, _) in self._gpus.items())
        for name in self._changed:
            self._count(name)
        self._changed.clear()

    def _count(self, name: str) -> None:
        before = self._gpus.get(name)
        if before is None and name not in self._names:
            return
        after = self._placer.free_gpus(self._views.node(name))
        if before == after:
            return
        if before is not None:
            del self._ranked[bisect_left(self._ranked, (before[0], name))]
        self._gpus[name] = after
        insort(self._ranked, (after[0], name))

    def component_entered(self, component: Component) -> None:
        """Nothing: the view of the component's node is dropped, too."""

    def component_left(self, component: Component) -> None:
        """Nothing: the view of the component's node is dropped, too."""

    def component_moved(self, component: Component, before: int) -> None:
        """Nothing: ``devices_taken`` or ``devices_given`` follows."""

    def view_dropped(self, node_view: NodeView) -> None:
        """Count a node again: its pools changed."""
        self._changed.add(node_view.node.name)

    def devices_taken(self, nodes: Iterable[str]) -> None:
        """Count nodes again whose devices were taken."""
        self._changed.update(tuple(nodes) or self._names)

    def devices_given(self, nodes: Iterable[str]) -> None:
        """Count nodes again whose devices were released."""
        self._changed.update(tuple(nodes) or self._names)

    def classes_changed(self, classes: Mapping[str, DeviceClass]) -> None:
        """Nothing: amounts have no device class."""
