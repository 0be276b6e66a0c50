"""The engine: keeps a cluster in tables and answers many questions about it.

The answers are those of ``explain.allocate`` for the same pools and claims. Count vectors find them where
they cover a claim; otherwise the backtracking search does. Both have a bound on their steps. Only one thread
may use an engine at a time. An engine does not wait, does not log and reads no clock.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import Final

from scheduler_core.base.effort import DECISION, Effort, EffortExceeded
from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.compiled_claims import CompiledClaims
from scheduler_core.engine.decider import AnsweredBy, Decider
from scheduler_core.engine.feasibility_cache import FeasibilityCache
from scheduler_core.engine.node_choice import Admits, NodeChoice
from scheduler_core.engine.node_order import NodeOrder
from scheduler_core.engine.offers_cache import OffersCache
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT, Policy
from scheduler_core.engine.request_devices import RequestDevices, from_problem, from_tables
from scheduler_core.engine.result_writer import ResultWriter
from scheduler_core.engine.solve.plan import Solution
from scheduler_core.engine.solve.planner import Planner
from scheduler_core.engine.state_follower import StateFollower
from scheduler_core.explain.refusal_details import RefusalDetails
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Answer, FeasibleNodes, Unallocatable, Undecided
from scheduler_core.search.candidates import located
from scheduler_core.search.depth_first import Problem, plain_search
from scheduler_core.search.pinned import Pins
from scheduler_core.search.problem import problem_of
from scheduler_core.state.cluster_state import ClusterState

_SHORT_SEARCH: Final = 100
"""Steps of a search for a reason that cost about as much as compiling the claims for tables."""


class Engine:
    """Allocates claims on the nodes of a cluster, in the state that ``state`` has when the question is asked.

    Shape: ``effort`` counts the steps since the engine was made.
    """

    def __init__(self, state: ClusterState, policy: Policy = BEST_FIT) -> None:
        self.state = state
        self.effort = Effort()
        self.policy = policy
        self._node_views = state.views
        self._selector_cache = SelectorCache()
        self._chooser = policy.chooser(self._selector_cache, self.effort)
        self._decider = Decider(
            self._chooser,
            self._selector_cache,
            self.effort,
            cluster_of=state.seen_from,
            holders_of=state.concerning,
            located=lambda error, claims: located(error, claims, state.classes),
        )
        self._feasibility = FeasibilityCache(self._node_views, self._decider.fits)
        self._published = OffersCache(state.features)
        self._writer = ResultWriter()
        order = NodeOrder(state.views)
        self._choice = NodeChoice(state.views, self._chooser, self._decider, self._feasibility, order)

        def forget() -> None:
            self._feasibility.forget()
            order.forget()

        self._compiled_claims = CompiledClaims(
            Planner(self.effort), self._selector_cache, state.features, forget
        )
        state.subscribe(
            StateFollower(self._chooser, self._compiled_claims, self._feasibility, order, self._writer)
        )

    @classmethod
    def of(cls, cluster: Cluster, policy: Policy = BEST_FIT) -> Engine:
        """Return an engine on a state of its own that knows a cluster."""
        return cls(ClusterState.of(cluster), policy)

    @property
    def answered_by(self) -> AnsweredBy:
        """Return which solver gave the latest answer, and why not the tables."""
        return self._decider.answered_by

    def allocate(self, claims: Sequence[Claim], node: Node) -> Answer:
        """Return the devices for the claims on one node, or why there are none. Nothing is held.

        Raises: InvalidClaim for an unknown class or a feature that is off; SelectorError for a selector
                that does not compile, or fails on a device for which it is evaluated.
        """
        return self.decide(claims, node) or self._explained(claims, node)

    def decide(self, claims: Sequence[Claim], node: Node) -> Allocation | Undecided | None:
        """Return what ``allocate`` does, but None in place of reasons, which take longer to find."""
        node_view = self._node_views.node_view(node)
        found = self._decider.decide(claims, self._compiled_claims.of(claims), node_view)
        if isinstance(found, tuple):
            return self._writer.written(found[1], claims, node_view)
        return found

    def decide_pinned(self, claims: Sequence[Claim], node: Node, pins: Pins) -> Allocation | Undecided | None:
        """Return the first answer in which some requests get chosen devices, None where there is none.

        Raises: as ``allocate``.
        """
        node_view = self._node_views.node_view(node)
        found = self._decider.decide_pinned(claims, self._compiled_claims.of_new(claims), node_view, pins)
        return self._writer.written(found, claims, node_view) if isinstance(found, Solution) else found

    def request_devices(
        self, claims: Sequence[Claim], node: Node, *, reasons: bool = False
    ) -> tuple[RequestDevices, ...]:
        """Return the devices that each request matches on a node. Raises: as ``allocate``.

        Shape: with ``reasons`` the devices that are not free say why.
        """
        node_view = self._node_views.node_view(node)
        compiled = self._compiled_claims.of(claims)
        if reasons or not compiled.is_in_tables(node_view):
            seen = self._published.seen_from(node, self._node_views.concerned(node))
            problem = problem_of(claims, self.state.with_pools(seen.pools), node, seen.offers)
            return from_problem(problem, seen.pools)
        space = compiled.search(node_view).space
        return from_tables(space, node_view, self._decider.free(space, node_view))

    def allocate_somewhere(
        self, claims: Sequence[Claim], nodes: Sequence[Node] | None = None, *, admits: Admits | None = None
    ) -> Answer:
        """Return an allocation on the node that the policy prefers.

        Shape: ``nodes`` None asks all nodes that own a pool; ``admits`` is as in ``decide_somewhere``. Where
               no node will do, the answer of the first node that is undecided, else of the first that
               is admitted and does not fit, by name or as given.
        Raises: as ``allocate``; ValueError without an admitted node.
        """
        found = self.decide_somewhere(claims, nodes, admits=admits)
        if found is not None:
            return found
        asked = map(self._node_views.node, self._node_views.names) if nodes is None else nodes
        node = next(filter(admits, asked) if admits else iter(asked), None)
        if node is None:
            raise ValueError("allocate_somewhere needs at least one node that is admitted")
        return self.allocate(claims, node)

    def decide_somewhere(
        self, claims: Sequence[Claim], nodes: Sequence[Node] | None = None, *, admits: Admits | None = None
    ) -> Allocation | Undecided | None:
        """Return what ``allocate_somewhere`` does, but None in place of reasons, and None without a node.

        Shape: ``admits`` says whether the caller wants a node. It is asked only for nodes on which the
               devices fit, once each, and no longer than until the policy has enough nodes to
               compare. The answer is that of asking for the admitted nodes alone.
        Raises: as ``allocate``.
        """
        undecided: list[Undecided] = []
        compiled = self._compiled_claims.of(claims)
        compared = self._choice.compared(claims, compiled, nodes, admits, undecided)
        best = self._choice.best(claims, compiled, compared)
        if best is not None:
            return self._writer.written(best[0], claims, best[1])
        if compared:
            return self.decide(claims, compared[0])
        return undecided[0] if undecided else None

    def compared_nodes(
        self, claims: Sequence[Claim], nodes: Sequence[Node] | None = None, *, admits: Admits | None = None
    ) -> tuple[Node, ...]:
        """Return the nodes among which ``decide_somewhere`` chooses, in the order of the policy.

        Raises: as ``allocate``.
        """
        return tuple(self._choice.compared(claims, self._compiled_claims.of(claims), nodes, admits, []))

    def feasible_nodes(self, claims: Sequence[Claim], nodes: Sequence[Node]) -> FeasibleNodes:
        """Return on which nodes the claims fit.

        Raises: as ``allocate``.
        """
        if not nodes:
            return FeasibleNodes(names=())
        undecided: list[Undecided] = []
        names = self._feasibility.feasible(claims, self._compiled_claims.of(claims), nodes, undecided)
        return FeasibleNodes(names=names, undecided=tuple(undecided))

    def fits(self, claims: Sequence[Claim], node: Node) -> bool | Undecided:
        """Return whether the claims fit on one node. Raises: as ``allocate``."""
        return self._feasibility.fits(claims, self._compiled_claims.of(claims), node)

    def likeness(self, claims: Sequence[Claim], node: Node) -> Hashable:
        """Return a key that is equal for nodes where such claims fit alike, in whatever number of each.

        Raises: as ``allocate``.
        """
        node_view = self._node_views.node_view(node)
        found = self._compiled_claims.of(claims).likeness(node_view)
        return node.name if found is None else found

    def may_share(self, claims: Sequence[Claim], nodes: Sequence[Node]) -> bool:
        """Return whether the claims may get a device of a pool that several nodes use.

        Raises: as ``allocate``.
        """
        if not self._node_views.has_several:
            return False
        compiled = self._compiled_claims.of(claims)
        node_views = (self._node_views.node_view(node) for node in nodes)
        return any(
            not one.is_compiled or any(map(self._node_views.is_of_several, compiled.pools(one)))
            for one in node_views
        )

    def _explained(self, claims: Sequence[Claim], node: Node) -> Unallocatable:
        seen = self._published.seen_from(node, self._node_views.concerned(node))
        cluster = self.state.with_pools(seen.pools)
        problem = problem_of(claims, cluster, node, seen.offers)

        def fits_relaxed(relaxed: Problem, parts: Sequence[Claim], within: Cluster) -> bool | None:
            try:
                return plain_search(relaxed, _SHORT_SEARCH).run()
            except SelectorError:  # in a question about parts of the claims it is not an error of the claims
                return None
            except EffortExceeded:
                engine = self if within is cluster else Engine.of(within, FIRST_FIT)
            try:
                found = engine._feasibility.fits(parts, engine._compiled_claims.of_new(parts), node)
            except SelectorError:
                return None
            return None if isinstance(found, Undecided) else found

        copy = cache(lambda: Engine.of(cluster, FIRST_FIT))
        findings = RefusalDetails(claims, cluster, node, lambda part: _fits(copy(), part, node))
        from scheduler_core.explain.explain import explain  # a refusal alone needs it

        reasons = explain(claims, cluster, node, problem, fits_relaxed)
        return Unallocatable(node=node.name, reasons=reasons, findings=findings)


def _fits(engine: Engine, claims: Sequence[Claim], node: Node) -> bool | None:
    """Whether claims fit on a node, None where that is undecided or the bound on steps is reached."""
    if engine.effort.steps > DECISION:
        return None
    found = engine.feasible_nodes(claims, [node])
    return None if found.undecided else bool(found.names)
