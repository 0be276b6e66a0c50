"""The policies by which commands allocate, by the names that people give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_core.allocate import Cluster
from scheduler_core.engine import FIRST_FIT, Engine, best_fit
from scheduler_core.engine.policy import Policy

POLICIES: Final[Mapping[str, Policy]] = {"best-fit": best_fit(), "first-fit": FIRST_FIT}


def engine_of(cluster: Cluster, policy: Policy) -> Engine:
    """Return an engine that knows the cluster."""
    engine = Engine(cluster.classes, policy=policy, features=cluster.features)
    for pool in cluster.pools:
        engine.set_pool(pool)
    for claim in cluster.allocated:
        engine.hold(claim)
    return engine
