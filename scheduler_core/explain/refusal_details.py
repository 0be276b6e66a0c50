"""What a refusal has to say beyond its reasons: looked up when asked for, then kept.

In come the claims, the cluster as it was and a question that says whether claims fit in it; out come the
values of ``scheduler_core.model.refusal``. A refusal that nobody reads costs nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from scheduler_core.explain.constraint_values import constraint_values
from scheduler_core.explain.first_fit_reasons import demands
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.refusal import ConstraintValues, Demand, RequestOf
from scheduler_core.search.smallest_conflict import Fits, smallest_conflict


class RefusalDetails:
    """The findings of one refusal. ``fits`` answers for the same cluster and node."""

    def __init__(self, claims: Sequence[Claim], cluster: Cluster, node: Node, fits: Fits) -> None:
        self._claims = tuple(claims)
        self._cluster = cluster
        self._node = node
        self._fits = fits

    @cached_property
    def requests(self) -> tuple[Demand, ...]:
        """Return what every request matched, and what each match lacked."""
        return demands(self._claims, self._cluster, self._node)

    @cached_property
    def constraints(self) -> tuple[ConstraintValues, ...]:
        """Return what there is to meet each constraint."""
        return constraint_values(self._claims, self._cluster, self._node, self.requests)

    @cached_property
    def conflict(self) -> tuple[RequestOf, ...]:
        """Return the smallest set of requests that cannot hold together."""
        return smallest_conflict(self._claims, self._fits)
