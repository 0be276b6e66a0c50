"""Prefer the answer that uses up the least of what is scarce.

For every profile the cluster has a total of parts that still fit. Taking devices lowers some totals; the
price of that is the sum of weight times the logarithm of what each total falls by. The last places of a
large profile are dear, plentiful ones cheap. Devices wanted together in one component are weighed together;
over several components one after another, the largest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

from scheduler_core.engine.policy.packings import Losses, Packing, lost, packings
from scheduler_core.engine.policy.part_counts import ProfileKey, Stock
from scheduler_core.engine.solve.component_view import Cell
from scheduler_core.engine.solve.counted import PlainCase
from scheduler_core.engine.solve.plan import Answer, Plan, PlannedCase
from scheduler_core.engine.solve.subproblem import Case, Progress, States, after
from scheduler_core.engine.tables.component import Component

Priced = tuple[float, Answer]
_LIMIT: Final = 1 << 14


@dataclass(slots=True, eq=False)
class Ways:
    """The ways to take some devices of one kind of component.

    Shape: ``order`` has the columns wanted; ``cheapest`` the way to prefer in a state, None where there is
           none, as prices were after so many changes: ``priced_at``; ``known`` the ways by state.
    """

    cell: Cell
    stock: Stock
    order: tuple[int, ...]
    cheapest: dict[int, tuple[float, Packing] | None] = field(default_factory=dict)
    priced_at: int = -1
    known: dict[int, tuple[Packing, ...]] = field(default_factory=dict)

    def of(self, state: int) -> tuple[Packing, ...]:
        """Return the ways that there are in a state."""
        found = self.known.get(state)
        if found is None:
            if len(self.known) >= _LIMIT:
                self.known.clear()
            found = self.known[state] = packings(self.cell, self.stock, state, self.order)
        return found


class Scarcity:
    """The totals of a cluster, and choices by them.

    Shape: ``stock_of`` says what a component can be cut into; ``compared`` how many nodes are worth asking
           for a price.
    """

    compared = 8

    def __init__(self, stock_of: Callable[[Component], Stock]) -> None:
        self._stock_of = stock_of
        self._numbers: dict[ProfileKey, int] = {}
        self._weights: list[float] = []
        self._totals: list[int] = []
        self._global: dict[Stock, tuple[int, ...]] = {}
        self._changes = 0
        self._stocks: dict[tuple[Component, ...], tuple[Stock, ...]] = {}
        self._same_stocks: dict[tuple[Stock, ...], tuple[Stock, ...]] = {}
        self._members: dict[tuple[PlannedCase, tuple[Stock, ...]], tuple[Ways, ...]] = {}
        self._known_ways: dict[tuple[Cell, Stock, tuple[int, ...]], Ways] = {}

    def entered(self, component: Component) -> None:
        """Count a new component."""
        stock = self._stock_of(component)
        self._count(stock, stock.fit(component.state), 1)

    def left(self, component: Component) -> None:
        """Count a component no more."""
        stock = self._stock_of(component)
        self._count(stock, stock.fit(component.state), -1)
        self._stocks.clear()

    def moved(self, component: Component, before: int) -> None:
        """Count what a change of state gained and lost."""
        stock = self._stock_of(component)
        was, now = stock.fit(before), stock.fit(component.state)
        if was != now:
            self._count(stock, [new - old for old, new in zip(was, now, strict=True)], 1)

    def choose(self, plan: Plan, components: Sequence[Component]) -> Priced | None:
        """Return the cheapest answer among those of the best alternatives, with its price.

        Raises: TooIrregular.
        """
        best: Priced | None = None
        options: tuple[int, ...] = ()
        for planned in plan.by_options:
            if best is not None and planned.choice.options != options:
                break
            found = self._cheapest(planned, components)
            if found is not None and (best is None or found[0] < best[0]):
                best, options = found, planned.choice.options
        return best

    def _cheapest(self, planned: PlannedCase, components: Sequence[Component]) -> Priced | None:
        case = planned.case
        ways = self._ways_of(planned, components)
        states = [components[number].state for number in planned.components]
        if isinstance(case, PlainCase) and case.is_single:
            return self._in_one(planned, ways[0], states[0])
        if len(case.order) == 1:
            return self._one(planned, ways, states)
        return self._one_by_one(planned, [one.stock for one in ways], tuple(states))

    def _ways_of(self, planned: PlannedCase, components: Sequence[Component]) -> tuple[Ways, ...]:
        """Return the ways of each member. Nodes of one roster share them, but for demands given."""
        site = tuple(components)
        stocks = self._stocks.get(site)
        if stocks is None:
            found = tuple(map(self._stock_of, site))
            stocks = self._stocks[site] = self._same_stocks.setdefault(found, found)
        known = self._members.get((planned, stocks))
        if known is None:
            if len(self._members) >= _LIMIT:
                self._members.clear()
            pairs = zip(planned.case.members, planned.components, strict=True)
            known = self._members[planned, stocks] = tuple(
                self._ways(member.cell, stocks[number], planned.case.order) for member, number in pairs
            )
        return known

    def _ways(self, cell: Cell, stock: Stock, order: tuple[int, ...]) -> Ways:
        key = (cell, stock, order)
        found = self._known_ways.get(key)
        if found is None:
            found = self._known_ways[key] = Ways(cell, stock, order)
        return found

    def _in_one(self, planned: PlannedCase, ways: Ways, state: int) -> Priced | None:
        """Choose among the packings of the only component."""
        found = self._cheapest_packing(ways, state)
        if found is None:
            return None
        price, packing = found
        return price, planned.answer(tuple([(0, position) for position in packing.positions]))

    def _one(self, planned: PlannedCase, ways: Sequence[Ways], states: Sequence[int]) -> Priced | None:
        """Choose one device, of those that cost the same the first."""
        best: tuple[float, Packing] | None = None
        chosen = 0
        for number, state in enumerate(states):
            if ways[number].known.get(state) == ():
                continue
            found = self._cheapest_packing(ways[number], state)
            if found is not None and (best is None or found[0] < best[0]):
                best, chosen = found, number
        return None if best is None else (best[0], planned.answer(((chosen, best[1].positions[0]),)))

    def _one_by_one(self, planned: PlannedCase, stocks: Sequence[Stock], states: States) -> Priced | None:
        """Choose device by device, first without looking ahead, then with."""
        if not planned.case.fits(states):
            return None
        turns = self._turns(planned.case, stocks)
        found = self._followed(planned, stocks, states, turns, looks_ahead=False)
        return found or self._followed(planned, stocks, states, turns, looks_ahead=True)

    def _turns(self, case: Case, stocks: Sequence[Stock]) -> list[int]:
        """Return the turns, those of the heaviest columns first."""
        weights: dict[int, float] = {}
        for column in set(case.order):
            pairs = zip(case.members, stocks, strict=True)
            weights[column] = max(stock.weight(member.cell.masks[column]) for member, stock in pairs)
        return sorted(range(len(case.order)), key=lambda turn: -weights[case.order[turn]])

    def _followed(
        self,
        planned: PlannedCase,
        stocks: Sequence[Stock],
        states: States,
        turns: Sequence[int],
        *,
        looks_ahead: bool,
    ) -> Priced | None:
        case, price = planned.case, 0.0
        progress = case.start()
        picks: list[tuple[int, int]] = [(0, 0)] * len(case.order)
        for turn in turns:
            for cost, number, position in self._offers(case, stocks, states, turn, progress):
                then, further = after(case, states, number, position), case.step(progress, turn, number)
                if not looks_ahead or case.reaches(then, further):
                    states, progress, price = then, further, price + cost
                    picks[turn] = (number, position)
                    break
            else:
                return None
        return price, planned.answer(tuple(picks))

    def _offers(
        self, case: Case, stocks: Sequence[Stock], states: States, turn: int, progress: Progress
    ) -> list[tuple[float, int, int]]:
        """Return the devices that could be next: price, member, position; the cheapest first."""
        found = []
        for number, position in case.candidates(states, turn, progress):
            stock, state = stocks[number], states[number]
            then = case.members[number].take(state, position)
            price = self._price(stock, lost(stock.fit(state), stock.fit(then)))
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
            price = self._price(ways.stock, way.losses)
            if best is None or price < best[0]:
                best = price, way
        ways.cheapest[state] = best
        return best

    def _price(self, stock: Stock, losses: Losses) -> float:
        """Return what losing parts costs now."""
        numbers = self._global[stock]
        price = 0.0
        for profile, loss in losses:
            number = numbers[profile]
            total = self._totals[number] + 1
            price += self._weights[number] * log(total / (total - loss))
        return price

    def _count(self, stock: Stock, fit: Sequence[int], sign: int) -> None:
        self._changes += 1
        for number, count in zip(self._numbers_of(stock), fit, strict=True):
            self._totals[number] += sign * count

    def _numbers_of(self, stock: Stock) -> tuple[int, ...]:
        """Return the numbers that the profiles of a stock have in the cluster."""
        known = self._global.get(stock)
        if known is None:
            for profile in stock.profiles:
                if self._numbers.setdefault(profile.key, len(self._totals)) == len(self._totals):
                    self._totals.append(0)
                    self._weights.append(profile.weight)
            known = tuple(self._numbers[profile.key] for profile in stock.profiles)
            self._global[stock] = known
        return known
