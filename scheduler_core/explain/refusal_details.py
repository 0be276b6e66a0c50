"""The details of a refusal beyond its reasons. Each is computed at the first access and then kept.

Takes the claims, the cluster at that time and a function that says whether claims fit in it. Returns values
of ``scheduler_core.model.refusal``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from scheduler_core.explain.constraint_values import constraint_values
from scheduler_core.explain.first_fit_reasons import demands
from scheduler_core.explain.funnel import funnels
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.funnel import Funnel
from scheduler_core.model.nodes import Node
from scheduler_core.model.refusal import ConstraintValues, Demand, RequestOf
from scheduler_core.search.smallest_conflict import Fits, smallest_conflict


class RefusalDetails:
    """The details of one refusal. ``fits`` answers for the same cluster and node."""

    def __init__(self, claims: Sequence[Claim], cluster: Cluster, node: Node, fits: Fits) -> None:
        self._claims = tuple(claims)
        self._cluster = cluster
        self._node = node
        self._fits = fits

    @cached_property
    def requests(self) -> tuple[Demand, ...]:
        """Return what every request matches, and the obstacle of each match."""
        return demands(self._claims, self._cluster, self._node)

    @cached_property
    def constraints(self) -> tuple[ConstraintValues, ...]:
        """Return the free devices by value, per constraint."""
        return constraint_values(self._claims, self._cluster, self._node, self.requests)

    @cached_property
    def funnels(self) -> tuple[Funnel, ...]:
        """Return how many devices each thing leaves that a request asks."""
        return funnels(self._claims, self._cluster, self._node)

    @cached_property
    def conflict(self) -> tuple[RequestOf, ...]:
        """Return the smallest set of requests that cannot be allocated together."""
        return smallest_conflict(self._claims, self._fits)
