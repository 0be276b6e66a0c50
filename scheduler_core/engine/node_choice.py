"""Node choice: on which of the nodes that fit the claims are allocated.

The policy says in which order nodes are looked at, and how many of them are compared. Of these the one with
the preferred alternatives at the least price is taken, the first of equal ones. Each unused component of a
node adds a little to its price, so that nodes which are nearly unused stay so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from scheduler_core.engine.compiled_claim import CompiledClaim
from scheduler_core.engine.decider import Decider
from scheduler_core.engine.feasibility_cache import FeasibilityCache
from scheduler_core.engine.node_order import NodeOrder
from scheduler_core.engine.policy.policies import Chooser
from scheduler_core.engine.solve.plan import Solution
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Undecided
from scheduler_core.state.node_class import NodeView
from scheduler_core.state.node_views import NodeViews

Admits = Callable[[Node], bool]
"""Whether the caller admits a node, for reasons that the core does not know, such as CPU and taints."""


class NodeChoice:
    """Chooses nodes for one engine."""

    def __init__(
        self,
        node_views: NodeViews,
        chooser: Chooser,
        decider: Decider,
        feasibility: FeasibilityCache,
        node_order: NodeOrder,
    ) -> None:
        self._node_views = node_views
        self._chooser = chooser
        self._decider = decider
        self._feasibility = feasibility
        self._node_order = node_order

    def compared(
        self,
        claims: Sequence[Claim],
        compiled: CompiledClaim,
        nodes: Sequence[Node] | None,
        admits: Admits | None,
        undecided: list[Undecided],
    ) -> list[Node]:
        """Return the nodes that are compared; add those that are undecided and were met before.

        Shape: ``nodes`` None means all that own a pool; ``admits`` is asked once for each node on which the
               devices fit, until enough nodes are admitted. None admits all.
        """
        fitting = self._fitting(claims, compiled, nodes, undecided)
        return list(islice(filter(admits, fitting) if admits else fitting, self._chooser.compared))

    def _fitting(
        self,
        claims: Sequence[Claim],
        compiled: CompiledClaim,
        nodes: Sequence[Node] | None,
        undecided: list[Undecided],
    ) -> Iterator[Node]:
        """Yield the nodes on which the claims fit, in the order of the policy."""
        packs, order, feasibility = self._chooser.fullest_first, self._node_order, self._feasibility
        if nodes is not None:
            in_order = order.fullest_first(compiled, nodes) if packs else nodes
            return feasibility.fitting(claims, compiled, in_order, undecided)
        if packs:
            names = feasibility.known_by(order.counts(compiled), claims, compiled, undecided)
        else:
            names = feasibility.known(claims, compiled, undecided)
        return map(self._node_views.node, names)

    def best(
        self, claims: Sequence[Claim], compiled: CompiledClaim, nodes: Sequence[Node]
    ) -> tuple[Solution, NodeView] | None:
        """Return the answer with the preferred alternatives at the least price, the first of equal ones.

        None where none of the nodes has an answer with a price.
        """
        best: tuple[tuple[int, ...], float] | None = None
        chosen: tuple[Solution, NodeView] | None = None
        prices = self._node_prices(compiled, nodes)
        for node, node_price in zip(nodes, prices, strict=True):
            node_view = self._node_views.node_view(node)
            found = self._decider.decide(claims, compiled, node_view)
            if not isinstance(found, tuple):
                continue
            cost = (found[1].choice.options, found[0] + node_price)
            if best is None or cost < best:
                best, chosen = cost, (found[1], node_view)
        return chosen

    def _node_prices(self, compiled: CompiledClaim, nodes: Sequence[Node]) -> list[float]:
        """Return what each node adds to the price of its answer."""
        each = self._chooser.unused_price
        return (
            [each * count for count in self._node_order.counts_of(compiled, nodes)]
            if each
            else [0.0] * len(nodes)
        )
