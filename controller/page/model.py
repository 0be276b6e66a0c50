"""What is known of a cluster, asked for the value of the page. Takes a ``ClusterSeen``; for one thread."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from controller.page.nodes import NodeValues
from controller.page.value import About, Point, fragmentation_of, page_value, use_of
from controller.page.waiting import waiting_pods
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.occupancy.narrowing import of_drivers
from scheduler_core.frontends.occupancy.values import ClusterOccupancy
from scheduler_core.frontends.occupancy.view import OccupancyView
from scheduler_core.model.claim import ClaimRef


class PageModel:
    """Gives values of the page. What was read of a pool is kept until the pool changes."""

    def __init__(self, seen: ClusterSeen, drivers: Collection[str] = ()) -> None:
        """Take what is known, which sees all. Shape: ``drivers`` whose devices are shown, empty for all."""
        assert seen.sees_all
        self._seen = seen
        self._drivers = drivers
        self._view = OccupancyView(seen.devices)
        self._engine = Engine(seen.devices)
        self._nodes = NodeValues()

    def value(self, about: About, history: Sequence[Point] = ()) -> dict[str, Any]:
        """Return the value now."""
        seen = self._seen
        pods = {
            claim.ref: tuple(one.name for one in claim.consumers if one.resource == "pods")
            for claim in seen.claims.values()
        }
        notes = (*about.notes, *seen.problems.values(), *seen.node_problems.values())
        about = About(about.title, about.made, about.is_live, notes)
        waiting = waiting_pods(seen, self._engine)
        return page_value(about, self._occupancy(pods), waiting, history, self._nodes)

    def point(self, at: float) -> Point:
        """Return the use of the cluster now. Units: ``at`` seconds since 1970."""
        occupancy = self._occupancy()
        return Point(at, use_of(occupancy), fragmentation_of(occupancy))

    def _occupancy(self, pods: Mapping[ClaimRef, tuple[str, ...]] | None = None) -> ClusterOccupancy:
        found = self._view.cluster(pods)
        return of_drivers(found, self._drivers) if self._drivers else found
