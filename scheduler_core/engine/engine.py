"""The engine: a cluster kept in tables, asked again and again.

Answers are those of ``explain.allocate`` on the same pools and claims; what the tables do not cover is
answered by it. An engine belongs to one thread at a time; nothing here waits, logs or keeps time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cache
from itertools import islice

from scheduler_core.base.effort import Effort
from scheduler_core.base.errors import SelectorError
from scheduler_core.base.features import ALL, Features
from scheduler_core.engine.claims.claim_signature import relaxed, without_constraints
from scheduler_core.engine.claims.selector_cache import Verdicts
from scheduler_core.engine.cluster.assignments import Holds
from scheduler_core.engine.cluster.node_class import Site
from scheduler_core.engine.cluster.node_views import Sites
from scheduler_core.engine.cluster.offers_cache import Publications, restored
from scheduler_core.engine.feasibility_cache import Outlook
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT, Policy, Priced
from scheduler_core.engine.result_writer import Scribe
from scheduler_core.engine.solve.backtracking import Careful
from scheduler_core.engine.solve.compiled_claim import Scout
from scheduler_core.engine.solve.compiled_claims import Scouts
from scheduler_core.engine.solve.plan import Answer
from scheduler_core.engine.solve.planner import Planner
from scheduler_core.engine.solve.subproblem import TooIrregular
from scheduler_core.engine.tables.pool_compiler import Compiler
from scheduler_core.explain.allocate import allocate
from scheduler_core.explain.explain import explain
from scheduler_core.explain.refusal_details import LookedUp
from scheduler_core.model.claim import AllocatedClaim, Claim, ClaimRef, DeviceClass
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.search.candidates import located
from scheduler_core.search.problem import Cluster, problem_of


class Engine:
    """Allocates claims on the nodes of a cluster.

    Shape: ``effort`` counts what was searched since the engine was made.
    """

    def __init__(
        self, classes: Mapping[str, DeviceClass], policy: Policy = BEST_FIT, features: Features = ALL
    ) -> None:
        self.effort = Effort()
        self.policy = policy
        self._verdicts = Verdicts()
        self._chooser = policy.chooser(self._verdicts, self.effort)
        self._features = features
        self._compiler = Compiler(features)
        self._sites = Sites(self._dropped)
        self._holds = Holds(self._sites.compiled, self._chooser.moved)
        self._outlook = Outlook(self._sites, self._fits_otherwise)
        self._published = Publications(features)
        self._scouts = Scouts(Planner(self.effort), self._verdicts, features, self._outlook.forget)
        self.set_classes(classes)

    @classmethod
    def of(cls, cluster: Cluster, policy: Policy = BEST_FIT) -> Engine:
        """Return an engine that knows a cluster."""
        engine = cls(cluster.classes, policy=policy, features=cluster.features)
        for pool in cluster.pools:
            engine.set_pool(pool)
        for claim in cluster.allocated:
            engine.hold(claim)
        return engine

    def set_classes(self, classes: Mapping[str, DeviceClass]) -> None:
        """Replace all device classes."""
        self._classes = dict(classes)
        self._scribe = Scribe(self._classes)
        self._scouts.set_classes(self._classes)

    def set_pool(self, pool: Pool) -> None:
        """Enter a pool, or a new generation of it. What claims hold stays held."""
        self.remove_pool(pool.id)
        compiled = self._compiler.compile_if_regular(pool)
        if compiled is None:
            self._sites.put(pool)
            return
        for component in compiled.components:
            self._chooser.entered(component)
        self._holds.enter_all(compiled)
        self._sites.put(compiled)

    def remove_pool(self, pool: PoolId) -> None:
        """Remove a pool, if it is known. Claims keep what they hold of it, should it come back."""
        kept = self._sites.compiled((pool.driver, pool.name))
        for component in kept.components if kept is not None else ():
            self._chooser.left(component)
        self._sites.remove((pool.driver, pool.name))

    def hold(self, claim: AllocatedClaim) -> None:
        """Take what a claim holds; what it held before, under the same name, is given back first."""
        if claim.ref in self._holds:
            self.release(claim.ref)
        pools = self._holds.add(claim)
        if claim.exclusive:
            self._sites.seal(pools, 1)
        for pool in pools:
            self._outlook.taken(self._sites.owners(pool))

    def release(self, ref: ClaimRef) -> None:
        """Give back what a claim holds. Raises: KeyError where it holds nothing."""
        is_exclusive = self._holds.is_exclusive(ref)
        pools = self._holds.remove(ref)
        if is_exclusive:
            self._sites.seal(pools, -1)
        for pool in pools:
            self._outlook.given(self._sites.owners(pool))

    def allocate(self, claims: Sequence[Claim], node: Node) -> Allocation | Unallocatable:
        """Return the devices for the claims on one node, or why there are none. Holds nothing.

        Raises: InvalidClaim for an unknown class or a feature that is off; SelectorError for a selector
                that does not compile, or fails on a device that was looked at.
        """
        try:
            return self._decided(claims, node) or self._explained(claims, node)
        except TooIrregular:
            return allocate(claims, self._cluster(node), node)

    def decide(self, claims: Sequence[Claim], node: Node) -> Allocation | None:
        """Return what ``allocate`` does, but None where it would give reasons: those take their time."""
        try:
            return self._decided(claims, node)
        except TooIrregular:
            found = allocate(claims, self._cluster(node), node)
            return found if isinstance(found, Allocation) else None

    def _decided(self, claims: Sequence[Claim], node: Node) -> Allocation | None:
        site = self._sites.site(node)
        found = self._answered(claims, self._scouts.of(claims), site)
        return None if found is None else self._scribe.written(found[1], claims, site)

    def _answered(self, claims: Sequence[Claim], scout: Scout, site: Site) -> Priced | None:
        """Return the answer and its price. Raises: TooIrregular where only the plain search can tell."""
        try:
            return self._chooser.choose(scout.plan(site), site.components)
        except TooIrregular:
            found, _ = self._searched(claims, scout, site)
            return None if found is None else (0.0, found)

    def _searched(self, claims: Sequence[Claim], scout: Scout, site: Site) -> tuple[Answer | None, bool]:
        """Return what the careful search finds, and whether it looked at devices as it pleased."""
        if not (scout.kind.is_covered and site.is_regular):
            raise TooIrregular
        looks = scout.looks(site)
        if scout.meets_shared(site, looks):
            raise TooIrregular
        lists = self._features.DRAListTypeAttributes
        careful = Careful(scout.kind, site, looks, lists=lists, effort=self.effort)
        if not careful.is_exact and not self._may_fit(claims, site):
            return None, True
        try:
            return careful.first(), not careful.is_exact
        except SelectorError as error:
            raise located(error, claims, self._classes) from None

    def _may_fit(self, claims: Sequence[Claim], site: Site) -> bool:
        """Whether what of the claims count vectors cover fits, as far as they can tell."""
        counted = relaxed(claims)
        try:
            return not counted or self._scouts.of_new(counted).plan(site).fits(site.components)
        except TooIrregular:
            return True

    def allocate_somewhere(
        self, claims: Sequence[Claim], nodes: Sequence[Node] | None = None
    ) -> Allocation | Unallocatable:
        """Return an allocation on the node that the policy prefers; the first node's answer where none fits.

        ``nodes`` None asks all nodes that own a pool, by name, without their labels.
        Raises: as ``allocate``; ValueError without a node.
        """
        found = self._preferred(claims, nodes)
        if found is not None:
            return found
        owners = self._sites.names if nodes is None else ()
        node = next(iter(nodes or map(Node, owners)), None)
        if node is None:
            raise ValueError("allocate_somewhere needs at least one node")
        return self.allocate(claims, node)

    def decide_somewhere(
        self, claims: Sequence[Claim], nodes: Sequence[Node] | None = None
    ) -> Allocation | None:
        """Return what ``allocate_somewhere`` does, but None where it would give reasons, or has no node."""
        return self._preferred(claims, nodes)

    def _preferred(self, claims: Sequence[Claim], nodes: Sequence[Node] | None) -> Allocation | None:
        """Return the allocation on the node that the policy prefers among those that fit."""
        scout = self._scouts.of(claims)
        if nodes is None:
            fitting = (Node(name) for name in self._outlook.known(claims, scout))
        else:
            fitting = (node for node in nodes if self._outlook.fits(claims, scout, node))
        compared = list(islice(fitting, self._chooser.compared))
        best = self._best(claims, scout, compared)
        if best is not None:
            return self._scribe.written(best[0], claims, best[1])
        return self.decide(claims, compared[0]) if compared else None

    def _best(
        self, claims: Sequence[Claim], scout: Scout, nodes: Sequence[Node]
    ) -> tuple[Answer, Site] | None:
        """Return the answer with the preferred alternatives at the least price, the first of equal ones.

        None where none of the nodes has an answer with a price.
        """
        best: tuple[tuple[int, ...], float] | None = None
        chosen: tuple[Answer, Site] | None = None
        for node in nodes:
            site = self._sites.site(node)
            try:
                found = self._answered(claims, scout, site)
            except TooIrregular:
                continue
            assert found is not None, "a node that fits has an answer"
            cost = (found[1].choice.options, found[0])
            if best is None or cost < best:
                best, chosen = cost, (found[1], site)
        return chosen

    def covers(self, claims: Sequence[Claim], node: Node) -> bool:
        """Whether the tables cover the claims there and the policy chooses; else order does, by search."""
        site = self._sites.site(node)
        try:
            return self._chooser.choose(self._scouts.of(claims).plan(site), site.components) is not None
        except TooIrregular:
            return False

    def feasible_nodes(self, claims: Sequence[Claim], nodes: Sequence[Node]) -> tuple[str, ...]:
        """Return the names of the nodes on which the claims fit, in the order given.

        Raises: as ``allocate``.
        """
        return self._outlook.feasible(claims, self._scouts.of(claims), nodes) if nodes else ()

    def _dropped(self, site: Site) -> None:
        """Forget a site that is no more."""
        self._scouts.forget(site)
        self._outlook.changed((site.node.name,))

    def _fits_otherwise(self, claims: Sequence[Claim], scout: Scout, node: Node) -> tuple[bool, bool]:
        """Whether claims fit that count vectors do not cover, and whether that may be remembered."""
        try:
            found, is_lasting = self._searched(claims, scout, self._sites.site(node))
        except TooIrregular:
            return isinstance(allocate(claims, self._cluster(node), node), Allocation), False
        return found is not None, is_lasting

    def _cluster(self, node: Node) -> Cluster:
        """Return what the plain search needs to know of a node."""
        return self._cluster_of(tuple(map(restored, self._sites.concerned(node))))

    def _cluster_of(self, pools: tuple[Pool, ...]) -> Cluster:
        allocated = self._holds.concerning([(pool.id.driver, pool.id.name) for pool in pools])
        return Cluster(pools=pools, classes=self._classes, allocated=allocated, features=self._features)

    def _explained(self, claims: Sequence[Claim], node: Node) -> Unallocatable:
        seen = self._published.seen_from(node, self._sites.concerned(node))
        cluster = self._cluster_of(seen.pools)
        problem = problem_of(claims, cluster, node, seen.offers)

        def fits_without(dropped: Set[int] | None) -> bool:
            rest = without_constraints(claims, dropped)
            try:
                return self._outlook.fits(rest, self._scouts.of_new(rest), node)
            except SelectorError:
                return False  # what only the question looks at fails nobody's claim

        copy = cache(lambda: Engine.of(cluster, FIRST_FIT))
        findings = LookedUp(claims, cluster, node, lambda part: bool(copy().feasible_nodes(part, [node])))
        reasons = explain(claims, cluster, node, problem, fits_without)
        return Unallocatable(node=node.name, reasons=reasons, findings=findings)
