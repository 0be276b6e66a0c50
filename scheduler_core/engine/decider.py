"""Decides one question about one node: which solver answers it, within a bound on the number of steps.

Where the tables cover the claim, they answer, and the policy chooses. Where they do not, the backtracking
search returns the first answer in listed order. The plain search answers only for nodes that have a pool
which is not in tables, and for claims with derived attributes. A solver that reaches the bound returns
``Undecided``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from scheduler_core.base.effort import DECISION, Effort, EffortExceeded
from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.compiled_claim import CompiledClaim
from scheduler_core.engine.policy.policies import Chooser, Priced
from scheduler_core.engine.search.search_solver import PreparedSearch, SearchSolver
from scheduler_core.engine.search.search_space import SearchSpace
from scheduler_core.engine.solve.coverage import Uncovered
from scheduler_core.engine.solve.plan import Solution
from scheduler_core.engine.solve.subproblem import BeyondTables
from scheduler_core.model.claim import AllocatedClaim, Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.search.answer import allocation
from scheduler_core.search.depth_first import Search
from scheduler_core.search.pinned import Pins, pinned
from scheduler_core.search.problem import problem_of
from scheduler_core.state.node_class import NodeView

__all__ = ["AnsweredBy", "Decider", "Priced", "Solver"]


class Solver(StrEnum):
    """The solvers that can answer."""

    TABLES = "tables"
    BACKTRACKING = "backtracking search"
    PLAIN = "plain search"


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """Which solver answered. Shape: ``gap`` says why the tables did not, None where they did."""

    solver: Solver
    gap: str | None = None


_TABLES: Final = AnsweredBy(Solver.TABLES)
_PLAIN: Final = AnsweredBy(Solver.PLAIN, "a pool of the node is not in tables")
_DERIVED: Final = AnsweredBy(Solver.PLAIN, "constraints compare derived attributes")
Fits = tuple[bool | Undecided, bool]
"""Whether claims fit, and whether that may be remembered until something changes on the node."""


class Decider:
    """Decides for one engine.

    Shape: ``cluster_of`` gives what the plain search needs to know of a node, ``holders_of`` the claims that
           hold devices of the pools that concern it; ``located`` adds to an error the object that
           has the failing expression; ``answered_by`` is about the latest decision.
    """

    def __init__(
        self,
        chooser: Chooser,
        selector_cache: SelectorCache,
        effort: Effort,
        *,
        cluster_of: Callable[[Node], Cluster],
        holders_of: Callable[[Node], Sequence[AllocatedClaim]],
        located: Callable[[SelectorError, Sequence[Claim]], SelectorError],
    ) -> None:
        self.answered_by = _TABLES
        self._chooser = chooser
        self._effort = effort
        self._cluster_of = cluster_of
        self._holders_of = holders_of
        self._located = located
        self._search = SearchSolver(selector_cache, effort)

    def decide(
        self, claims: Sequence[Claim], compiled: CompiledClaim, node_view: NodeView
    ) -> Priced | Allocation | Undecided | None:
        """Return the answer with its price, None where the claims do not fit.

        Shape: an allocation where the plain search answers; the price is 0 unless the tables answer.
        Raises: SelectorError where a selector fails on a device for which it is evaluated.
        """
        effort = self._effort
        effort.most = effort.steps + DECISION
        plan = compiled.plans.get(node_view)
        try:
            if plan is None:
                if not compiled.is_in_tables(node_view):
                    return self._plain(claims, node_view)
                coverage = compiled.coverage(node_view)
                if isinstance(coverage, Uncovered):
                    return self._backtracked(claims, compiled, node_view, coverage.reason)
                plan = coverage.plan
            self.answered_by = _TABLES
            try:
                return self._chooser.choose(plan, node_view.components)
            except BeyondTables as beyond:
                return self._backtracked(claims, compiled, node_view, beyond.reason)
        except EffortExceeded:
            return self._undecided(node_view)

    def _backtracked(
        self, claims: Sequence[Claim], compiled: CompiledClaim, node_view: NodeView, gap: str
    ) -> Priced | None:
        self.answered_by = AnsweredBy(Solver.BACKTRACKING, gap)
        solution = self._searched(claims, compiled, node_view, compiled.search(node_view))
        return None if solution is None else (0.0, solution)

    def decide_pinned(
        self, claims: Sequence[Claim], compiled: CompiledClaim, node_view: NodeView, pins: Pins
    ) -> Solution | Allocation | Undecided | None:
        """Return the first answer that gives some requests chosen devices. Raises: as ``decide``."""
        if not compiled.is_in_tables(node_view):
            return self._plain_pinned(claims, node_view, pins)
        self._effort.most = self._effort.steps + DECISION
        self.answered_by = AnsweredBy(Solver.BACKTRACKING, "requests are limited to chosen devices")
        try:
            return self._searched(claims, compiled, node_view, compiled.pinned_search(node_view, pins))
        except EffortExceeded:
            return self._undecided(node_view)

    def free(self, space: SearchSpace, node_view: NodeView) -> tuple[int, ...]:
        """Return, per request, the devices that its first alternative could get now, constraints aside."""
        return self._search.free(space, node_view, lambda: self._holders_of(node_view.node))

    def fits(self, claims: Sequence[Claim], compiled: CompiledClaim, node_view: NodeView) -> Fits:
        """Whether claims fit on a node. Raises: as ``decide``."""
        if not compiled.is_in_tables(node_view):
            found = self._plain(claims, node_view)
            return found if isinstance(found, Undecided) else found is not None, False
        self._effort.most = self._effort.steps + DECISION
        self.answered_by = _TABLES
        try:
            plan = compiled.plans.get(node_view)
            if plan is None:
                coverage = compiled.coverage(node_view)
                if isinstance(coverage, Uncovered):
                    return self._fits_by_search(claims, compiled, node_view, coverage.reason)
                plan = coverage.plan
            try:
                return plan.fits(node_view.components), True
            except BeyondTables as beyond:
                return self._fits_by_search(claims, compiled, node_view, beyond.reason)
        except EffortExceeded:
            return self._undecided(node_view), False

    def _fits_by_search(
        self, claims: Sequence[Claim], compiled: CompiledClaim, node_view: NodeView, gap: str
    ) -> tuple[bool, bool]:
        is_fit = self._backtracked(claims, compiled, node_view, gap) is not None
        return is_fit, not compiled.search(node_view).space.fails

    def _searched(
        self,
        claims: Sequence[Claim],
        compiled: CompiledClaim,
        node_view: NodeView,
        prepared: PreparedSearch,
    ) -> Solution | None:
        try:
            return self._search.solve(
                prepared,
                node_view,
                holders=lambda: self._holders_of(node_view.node),
                may_fit=lambda first, states: compiled.may_fit(node_view, first, states),
            )
        except SelectorError as error:
            raise self._located(error, claims) from None

    def _plain(self, claims: Sequence[Claim], node_view: NodeView) -> Allocation | Undecided | None:
        self.answered_by = _PLAIN if not node_view.is_compiled else _DERIVED
        from scheduler_core.explain.allocate import allocate  # such pools are rare

        found = allocate(claims, self._cluster_of(node_view.node), node_view.node)
        return found if isinstance(found, Allocation | Undecided) else None

    def _plain_pinned(
        self, claims: Sequence[Claim], node_view: NodeView, pins: Pins
    ) -> Allocation | Undecided | None:
        self.answered_by = _PLAIN if not node_view.is_compiled else _DERIVED
        node = node_view.node
        cluster = self._cluster_of(node)
        seen = replace(cluster, pools=cluster.pools_seen_from(node))
        try:
            search = Search(pinned(problem_of(claims, seen, node), pins, seen.pools))
            is_fit = search.run()
        except SelectorError as error:
            raise self._located(error, claims) from None
        except EffortExceeded:
            return self._undecided(node_view)
        return allocation(claims, search.problem, search.chosen, cluster=seen, node=node) if is_fit else None

    def _undecided(self, node_view: NodeView) -> Undecided:
        why = f"the search reached its bound ({self.answered_by.solver})"
        return Undecided(node=node_view.node.name, steps=DECISION, why=why)
