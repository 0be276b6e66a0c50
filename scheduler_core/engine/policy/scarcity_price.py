"""Scarcity price: prefers the answer that leaves the most of what is scarce in the cluster.

For every kind of part the cluster has a total: how many such parts still fit. Taking devices lowers some
totals. The price of an answer is the sum over the kinds of weight times the logarithm of (total before /
total after). So the last parts of a kind are dear, and parts of which many are left are cheap. Devices of
one component are priced together. Devices of several components are priced one after another, the heaviest
first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from math import log
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.policy.packings import Losses, Packing, lost, packings
from scheduler_core.engine.policy.part_counts import PartCounts, PartKey
from scheduler_core.engine.solve.component_view import ComponentView
from scheduler_core.engine.solve.counted import CountedSubproblem
from scheduler_core.engine.solve.plan import NodePlan, PlannedSubproblem, Solution, preference
from scheduler_core.engine.solve.subproblem import Picks, Progress, States, Subproblem, after
from scheduler_core.tables.component import Component

Priced = tuple[float, Solution]
Offer = tuple[float, Picks]
"""A price, and the devices of a subproblem's members."""

_LIMIT: Final = 1 << 14


@dataclass(slots=True, eq=False)
class Ways:
    """The ways to take some devices in equal components.

    Shape: ``order`` has the column of each device wanted; ``cheapest`` the cheapest way and its price by
           state, None where there is no way; these prices are valid as long as the totals have changed
           ``priced_at`` times; ``known`` the ways by state.
    """

    view: ComponentView
    part_counts: PartCounts
    order: tuple[int, ...]
    cheapest: dict[int, tuple[float, Packing] | None] = field(default_factory=dict)
    priced_at: int = -1
    known: dict[int, tuple[Packing, ...]] = field(default_factory=dict)

    def of(self, state: int) -> tuple[Packing, ...]:
        """Return the ways in a state."""
        found = self.known.get(state)
        if found is None:
            if len(self.known) >= _LIMIT:
                self.known.clear()
            found = self.known[state] = packings(self.view, self.part_counts, state, self.order)
        return found


@dataclass(slots=True, eq=False)
class NodeWays:
    """The ways of all subproblems on nodes whose components have equal part counts.

    Shape: ``part_counts`` of each component; ``known`` has the ways of each member of a subproblem.
    """

    part_counts: tuple[PartCounts, ...]
    known: dict[PlannedSubproblem, tuple[Ways, ...]] = field(default_factory=dict)


class ScarcityPrice:
    """Keeps the totals of a cluster, and chooses answers by price.

    Shape: ``part_counts_of`` returns the part counts of a component; ``compared`` how many nodes that fit
           are compared by price, the fullest ones.
    """

    compared = 8
    fullest_first = True
    unused_price = 0.004  # decision 0057 has the measurement

    def __init__(self, part_counts_of: Callable[[Component], PartCounts]) -> None:
        self._part_counts_of = part_counts_of
        self._numbers: dict[PartKey, int] = {}
        self._weights: list[float] = []
        self._totals: list[int] = []
        self._global: dict[PartCounts, tuple[int, ...]] = {}
        self._changes = 0
        self._nodes: dict[tuple[Component, ...], NodeWays] = {}
        self._equal_nodes: dict[tuple[PartCounts, ...], NodeWays] = {}
        self._known_ways: dict[tuple[ComponentView, PartCounts, tuple[int, ...]], Ways] = {}

    def entered(self, component: Component) -> None:
        """Add a component to the totals."""
        part_counts = self._part_counts_of(component)
        self._count(part_counts, part_counts.fit(component.state), 1)

    def left(self, component: Component) -> None:
        """Remove a component from the totals."""
        part_counts = self._part_counts_of(component)
        self._count(part_counts, part_counts.fit(component.state), -1)
        self._nodes.clear()

    def moved(self, component: Component, before: int) -> None:
        """Change the totals by what a change of state frees or takes."""
        part_counts = self._part_counts_of(component)
        was, now = part_counts.fit(before), part_counts.fit(component.state)
        if was != now:
            self._count(part_counts, [new - old for old, new in zip(was, now, strict=True)], 1)

    def choose(self, plan: NodePlan, components: Sequence[Component]) -> Priced | None:
        """Return the cheapest answer with the preferred alternatives and the closest devices, and its price.

        Raises: BeyondTables.
        """
        node_ways = self._node_ways(components)
        best: Offer | None = None
        chosen: PlannedSubproblem | None = None
        for planned in plan.by_preference:
            if chosen is not None and preference(planned) != preference(chosen):
                break
            found = self._cheapest(planned, components, node_ways)
            if found is not None and (best is None or found[0] < best[0]):
                best, chosen = found, planned
        if best is None or chosen is None:
            return None
        return best[0], chosen.answer(best[1])

    def _cheapest(
        self, planned: PlannedSubproblem, components: Sequence[Component], node_ways: NodeWays
    ) -> Offer | None:
        subproblem = planned.subproblem
        ways = node_ways.known.get(planned)
        if ways is None:
            ways = self._member_ways(planned, node_ways)
        if isinstance(subproblem, CountedSubproblem) and subproblem.is_single:
            found = self._cheapest_packing(ways[0], components[planned.components[0]].state)
            return None if found is None else (found[0], found[1].of_one_member)
        states = tuple([components[number].state for number in planned.components])
        if len(subproblem.order) == 1:
            return self._one(ways, states)
        return self._one_by_one(planned, [one.part_counts for one in ways], states)

    def _node_ways(self, components: Sequence[Component]) -> NodeWays:
        """Return the ways on a node; nodes that have the same part counts share them."""
        node_view = tuple(components)
        found = self._nodes.get(node_view)
        if found is None:
            counts = tuple(map(self._part_counts_of, node_view))
            found = self._nodes[node_view] = self._equal_nodes.setdefault(counts, NodeWays(counts))
        return found

    def _member_ways(self, planned: PlannedSubproblem, node_ways: NodeWays) -> tuple[Ways, ...]:
        """Make the ways of each member of a subproblem."""
        if len(node_ways.known) >= _LIMIT:
            node_ways.known.clear()
        pairs = zip(planned.subproblem.members, planned.components, strict=True)
        counts = node_ways.part_counts
        found = node_ways.known[planned] = tuple(
            self._ways(member.view, counts[number], planned.subproblem.order) for member, number in pairs
        )
        return found

    def _ways(self, view: ComponentView, part_counts: PartCounts, order: tuple[int, ...]) -> Ways:
        key = (view, part_counts, order)
        found = self._known_ways.get(key)
        if found is None:
            found = self._known_ways[key] = Ways(view, part_counts, order)
        return found

    def _one(self, ways: Sequence[Ways], states: Sequence[int]) -> Offer | None:
        """Choose one device: the cheapest one, the first of equal prices."""
        best: tuple[float, Packing] | None = None
        chosen = 0
        changes = self._changes
        for number, (mine, state) in enumerate(zip(ways, states, strict=True)):
            if mine.priced_at == changes and state in mine.cheapest:  # asked here: a call takes twice as long
                found = mine.cheapest[state]
            elif mine.known.get(state) == ():
                continue
            else:
                found = self._cheapest_packing(mine, state)
            if found is not None and (best is None or found[0] < best[0]):
                best, chosen = found, number
        return None if best is None else (best[0], ((chosen, best[1].positions[0]),))

    def _one_by_one(
        self, planned: PlannedSubproblem, member_counts: Sequence[PartCounts], states: States
    ) -> Offer | None:
        """Choose device by device, the cheapest each time.

        First try without asking whether the rest still fits; where that ends without an answer, with asking.
        """
        if not planned.subproblem.fits(states):
            return None
        turns = self._turns(planned.subproblem, member_counts)
        found = self._followed(planned, member_counts, states, turns, looks_ahead=False)
        return found or self._followed(planned, member_counts, states, turns, looks_ahead=True)

    def _turns(self, subproblem: Subproblem, member_counts: Sequence[PartCounts]) -> list[int]:
        """Return the turns in the order in which to choose: those of the heaviest columns first."""
        weights: dict[int, float] = {}
        for column in set(subproblem.order):
            pairs = zip(subproblem.members, member_counts, strict=True)
            weights[column] = max(
                part_counts.weight(member.view.masks[column]) for member, part_counts in pairs
            )
        return sorted(range(len(subproblem.order)), key=lambda turn: -weights[subproblem.order[turn]])

    def _followed(
        self,
        planned: PlannedSubproblem,
        member_counts: Sequence[PartCounts],
        states: States,
        turns: Sequence[int],
        *,
        looks_ahead: bool,
    ) -> Offer | None:
        subproblem, price = planned.subproblem, 0.0
        progress = subproblem.start()
        picks: list[tuple[int, int]] = [(0, 0)] * len(subproblem.order)
        for turn in turns:
            for cost, number, position in self._offers(subproblem, member_counts, states, turn, progress):
                then, further = (
                    after(subproblem, states, number, position),
                    subproblem.step(progress, turn, number),
                )
                if not looks_ahead or subproblem.reaches(then, further):
                    states, progress, price = then, further, price + cost
                    picks[turn] = (number, position)
                    break
            else:
                return None
        return price, tuple(picks)

    def _offers(
        self,
        subproblem: Subproblem,
        member_counts: Sequence[PartCounts],
        states: States,
        turn: int,
        progress: Progress,
    ) -> list[tuple[float, int, int]]:
        """Return the devices for a turn, the cheapest first. Shape: price, member, position."""
        found = []
        for number, position in subproblem.candidates(states, turn, progress):
            part_counts, state = member_counts[number], states[number]
            then = subproblem.members[number].take(state, position)
            price = self._price(part_counts, lost(part_counts.fit(state), part_counts.fit(then)))
            found.append((price, number, position))
        found.sort(key=lambda offer: offer[0])
        return found

    def _cheapest_packing(self, ways: Ways, state: int) -> tuple[float, Packing] | None:
        if ways.priced_at != self._changes:
            ways.cheapest.clear()
            ways.priced_at = self._changes
        elif state in ways.cheapest:
            return ways.cheapest[state]
        best: tuple[float, Packing] | None = None
        for way in ways.of(state):
            price = self._price(ways.part_counts, way.losses)
            if best is None or price < best[0]:
                best = price, way
        ways.cheapest[state] = best
        return best

    def _price(self, part_counts: PartCounts, losses: Losses) -> float:
        """Return the price of losing some parts, by the present totals."""
        numbers = self._global[part_counts]
        price = 0.0
        for part_kind, loss in losses:
            number = numbers[part_kind]
            total = self._totals[number] + 1
            price += self._weights[number] * log(total / (total - loss))
        return price

    def _count(self, part_counts: PartCounts, fit: Sequence[int], sign: int) -> None:
        self._changes += 1
        for number, count in zip(self._numbers_of(part_counts), fit, strict=True):
            self._totals[number] += sign * count

    def _numbers_of(self, part_counts: PartCounts) -> tuple[int, ...]:
        """Return the numbers of some part kinds among the kinds of the cluster."""
        known = self._global.get(part_counts)
        if known is None:
            for part_kind in part_counts.part_kinds:
                if self._numbers.setdefault(part_kind.key, len(self._totals)) == len(self._totals):
                    self._totals.append(0)
                    self._weights.append(part_kind.weight)
            known = tuple(self._numbers[part_kind.key] for part_kind in part_counts.part_kinds)
            self._global[part_counts] = known
        return known
