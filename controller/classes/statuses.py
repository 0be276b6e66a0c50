"""The statuses of all resource classes, kept up to date by what a cluster state reports.

A change of a pool, a node or a claim only marks its pool. ``changed`` counts the marked pools again, so many
changes cost one count. All numbers come from the facts of the state, so a restart finds the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.classes.documents import ClassStatus, is_stored
from controller.classes.selected import ClassSelector, Selected
from scheduler_core.frontends.classes.advice import why_unserved
from scheduler_core.frontends.classes.decode import decode_resource_class
from scheduler_core.frontends.classes.errors import InvalidResourceClass
from scheduler_core.frontends.classes.model import ResourceClass
from scheduler_core.model.nodes import Node
from scheduler_core.state.assignments import PoolKey
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.node_views import pool_key


@dataclass(frozen=True, slots=True)
class _Object:
    """A ResourceClass object: what it says, or why it cannot be read, and its status at the server."""

    generation: int
    content: ResourceClass | str
    stored: Mapping[str, Any]


class ClassStatuses:
    """Counts what resource classes select and what of it is held. Used by the state's thread only.

    It follows the state. Call ``changed`` only when nodes, slices and claims were listed once: before, the
    numbers are those of a part of the cluster.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._objects: dict[str, _Object] = {}
        self._counts: dict[str, _Count] = {}
        self._changed: dict[PoolKey, None] = {}
        self._held: dict[PoolKey, None] = {}
        self._present: set[str] = set()
        state.follow_pools(self)

    def set_class(self, document: Mapping[str, Any]) -> None:
        """Take a ResourceClass object as the server has it, with its status.

        An object that cannot be read selects nothing, and its status says why.
        """
        metadata = document["metadata"]
        name, before = metadata["name"], self._objects.get(metadata["name"])
        content = _read(document)
        stored = document.get("status") or {}
        self._objects[name] = _Object(metadata.get("generation", 0), content, stored)
        if before is None or before.content != content:
            self._counts.pop(name, None)
            if isinstance(content, ResourceClass):
                self._counts[name] = count = _Count(content, self._state)
                for pool in self._state.views.pools:
                    count.changed(pool_key(pool))

    def remove_class(self, name: str) -> None:
        """Forget a class, if it is known."""
        self._objects.pop(name, None)
        self._counts.pop(name, None)

    def pool_changed(self, pool: PoolKey) -> None:
        """Note that a pool has changed; ``changed`` counts it again."""
        self._changed[pool] = None

    def pool_held(self, pool: PoolKey) -> None:
        """Mark what is held of a pool to be counted again."""
        self._held[pool] = None

    def node_changed(self, name: str) -> None:
        """Mark the pools of a node that came or went. Its labels have no meaning here."""
        is_present = self._state.views.is_present(name)
        if is_present is not (name in self._present):
            (self._present.add if is_present else self._present.discard)(name)
            for pool in self._state.views.concerned(Node(name)):
                self._changed[pool_key(pool)] = None

    def changed(self) -> Iterator[ClassStatus]:
        """Yield the statuses that differ from what the server has, by name of the class."""
        self._count_again()
        for name in sorted(self._objects):
            status = self._status(name)
            if not is_stored(status, self._objects[name].stored):
                yield status

    def stored(self, name: str) -> Mapping[str, Any]:
        """Return the status of a class as the server has it. Raises: KeyError."""
        return self._objects[name].stored

    def _count_again(self) -> None:
        for count in self._counts.values():
            for pool in self._changed:
                count.changed(pool)
            for pool in self._held:
                if pool not in self._changed:
                    count.held(pool)
        self._changed.clear()
        self._held.clear()

    def _status(self, name: str) -> ClassStatus:
        found = self._objects[name]
        if isinstance(found.content, str):
            return ClassStatus(name, found.generation, problem=found.content)
        count = self._counts[name]
        return ClassStatus(
            name, found.generation, count.allocatable, count.requested, unserved=count.unserved
        )


class _Count:
    """The two numbers of one class, as a sum over pools, and why no pod can get a device of it."""

    def __init__(self, resource_class: ResourceClass, state: ClusterState) -> None:
        self.allocatable = self.requested = 0
        self.unserved = why_unserved(resource_class)
        self._state = state
        self._selector = ClassSelector(resource_class)
        self._selected: dict[PoolKey, Selected] = {}
        self._numbers: dict[PoolKey, tuple[int, int]] = {}

    def changed(self, pool: PoolKey) -> None:
        """Count a pool again that came, changed or went, or whose node did."""
        self._selected.pop(pool, None)
        found = self._state.views.get(pool)
        if found is not None:
            selected = self._selector.selected(found, self._state.views.is_present)
            if selected.count:
                self._selected[pool] = selected
        self.held(pool)

    def held(self, pool: PoolKey) -> None:
        """Count again what is held of a pool."""
        selected, (allocatable, requested) = self._selected.get(pool), self._numbers.pop(pool, (0, 0))
        self.allocatable -= allocatable
        self.requested -= requested
        if selected is not None:
            numbers = selected.count, selected.held(self._state.assignments)
            self._numbers[pool] = numbers
            self.allocatable += numbers[0]
            self.requested += numbers[1]


def _read(document: Mapping[str, Any]) -> ResourceClass | str:
    try:
        return decode_resource_class(document)
    except InvalidResourceClass as error:
        return str(error)
