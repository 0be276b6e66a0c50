"""The engine: a cluster kept in tables, asked again and again.

Answers are those of ``scheduler_core.allocate`` on the same pools and claims; what the tables do not cover
is answered by it. An engine belongs to one thread at a time; nothing here waits, logs or keeps time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scheduler_core.allocate import allocate
from scheduler_core.engine.answers import written
from scheduler_core.engine.case import TooIrregular
from scheduler_core.engine.compile import compile_pool, is_regular
from scheduler_core.engine.component import CompiledPool
from scheduler_core.engine.effort import Effort
from scheduler_core.engine.holds import Holds, pools_of
from scheduler_core.engine.kind import content, kind_of
from scheduler_core.engine.library import Library
from scheduler_core.engine.planner import Planner
from scheduler_core.engine.policy import FIRST_FIT, Policy
from scheduler_core.engine.roster import Site
from scheduler_core.engine.scout import Scout
from scheduler_core.engine.sites import Sites
from scheduler_core.engine.verdicts import Verdicts
from scheduler_core.explain import explain
from scheduler_core.features import ALL, Features
from scheduler_core.model.claim import AllocatedClaim, Claim, ClaimRef, DeviceClass
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.problem import Cluster, problem_of

_KINDS = 256  # kinds of claims kept before they start afresh


class Engine:
    """Allocates claims on the nodes of a cluster.

    Shape: ``effort`` counts what was searched since the engine was made.
    """

    def __init__(
        self, classes: Mapping[str, DeviceClass], policy: Policy = FIRST_FIT, features: Features = ALL
    ) -> None:
        self.effort = Effort()
        self.policy = policy
        self._classes = dict(classes)
        self._features = features
        self._library = Library()
        self._verdicts = Verdicts()
        self._planner = Planner(self.effort)
        self._sites = Sites(self._dropped)
        self._holds = Holds()
        self._scouts: dict[object, Scout] = {}

    def set_classes(self, classes: Mapping[str, DeviceClass]) -> None:
        """Replace all device classes."""
        self._classes = dict(classes)
        self._scouts.clear()

    def set_pool(self, pool: Pool) -> None:
        """Enter a pool, or a new generation of it. What claims hold stays held."""
        if not is_regular(pool, self._features):
            self._sites.put(pool)
            return
        compiled = compile_pool(pool, self._library)
        self._holds.enter_all(compiled)
        self._sites.put(compiled)

    def remove_pool(self, pool: PoolId) -> None:
        """Remove a pool, if it is known. Claims keep what they hold of it, should it come back."""
        self._sites.remove(pool)

    def hold(self, claim: AllocatedClaim) -> None:
        """Take what a claim holds; what it held before, under the same name, is given back first."""
        if self._holds.get(claim.ref) is not None:
            self.release(claim.ref)
        self._holds.add(claim)
        for pool in pools_of(claim):
            kept = self._sites.pool(pool)
            if isinstance(kept, CompiledPool):
                self._holds.take(kept, claim.results)

    def release(self, ref: ClaimRef) -> None:
        """Give back what a claim holds. Raises: KeyError where it holds nothing."""
        claim = self._holds.remove(ref)
        for pool in pools_of(claim):
            kept = self._sites.pool(pool)
            if isinstance(kept, CompiledPool):
                self._holds.give(kept, claim.results)

    def allocate(self, claims: Sequence[Claim], node: Node) -> Allocation | Unallocatable:
        """Return the devices for the claims on one node, or why there are none. Holds nothing.

        Raises: InvalidClaim for an unknown class or a feature that is off; SelectorError for a selector
                that does not compile, or fails on a device that was looked at.
        """
        site = self._sites.site(node)
        try:
            answer = self._scout(claims).plan(site).first(site)
        except TooIrregular:
            return allocate(claims, self._cluster(node), node)
        if answer is not None:
            return written(answer, claims, site, self._classes)
        return self._explained(claims, node)

    def allocate_somewhere(
        self, claims: Sequence[Claim], nodes: Sequence[Node] | None = None
    ) -> Allocation | Unallocatable:
        """Return an allocation on the first node that fits; the first node's answer where none does.

        ``nodes`` None asks all nodes that own a pool, by name, without their labels.
        Raises: as ``allocate``; ValueError without a node.
        """
        asked = [Node(name) for name in self._sites.names()] if nodes is None else nodes
        if not asked:
            raise ValueError("allocate_somewhere needs at least one node")
        for node in asked:
            if self._fits(claims, node):
                return self.allocate(claims, node)
        return self.allocate(claims, asked[0])

    def feasible_nodes(self, claims: Sequence[Claim], nodes: Sequence[Node]) -> tuple[str, ...]:
        """Return the names of the nodes on which the claims fit, in the order given.

        Raises: as ``allocate``.
        """
        return tuple([node.name for node in nodes if self._fits(claims, node)])

    def _fits(self, claims: Sequence[Claim], node: Node) -> bool:
        site = self._sites.site(node)
        try:
            return self._scout(claims).plan(site).fits(site)
        except TooIrregular:
            return isinstance(allocate(claims, self._cluster(node), node), Allocation)

    def _scout(self, claims: Sequence[Claim]) -> Scout:
        key = content(claims)
        scout = self._scouts.get(key)
        if scout is None:
            kind = kind_of(claims, self._classes, self._features)
            if len(self._scouts) >= _KINDS:
                self._scouts.clear()
            scout = self._scouts[key] = Scout(kind, self._planner, self._verdicts)
        return scout

    def _dropped(self, site: Site) -> None:
        for scout in self._scouts.values():
            scout.forget(site)

    def _cluster(self, node: Node) -> Cluster:
        """Return what the plain search needs to know of a node."""
        kept = self._sites.concerned(node)
        pools = tuple(pool.restored() if isinstance(pool, CompiledPool) else pool for pool in kept)
        allocated = self._holds.concerning([pool.id for pool in pools])
        return Cluster(pools=pools, classes=self._classes, allocated=allocated, features=self._features)

    def _explained(self, claims: Sequence[Claim], node: Node) -> Unallocatable:
        seen = self._cluster(node)
        cluster = replace(seen, pools=tuple(pool.as_seen_from(node) for pool in seen.pools))
        problem = problem_of(claims, cluster, node)
        return Unallocatable(node=node.name, reasons=explain(claims, cluster, node, problem))
