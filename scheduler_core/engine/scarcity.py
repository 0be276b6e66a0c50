"""Prefer the answer that uses up the least of what is scarce.

For every profile the cluster has a total of parts that still fit. Taking devices lowers some totals; the
price of that is the sum of weight times the logarithm of what each total falls by. The last places of a
large profile are dear, plentiful ones cheap. Devices wanted together in one component are weighed together;
over several components one after another, the largest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Final

from scheduler_core.engine.case import Case, Progress, States, after
from scheduler_core.engine.cell import Cell
from scheduler_core.engine.component import Component
from scheduler_core.engine.packing import Losses, Packing, lost, packings
from scheduler_core.engine.plain_case import PlainCase
from scheduler_core.engine.plan import Answer, Plan, PlannedCase
from scheduler_core.engine.stock import Fit, ProfileKey, Stock

Priced = tuple[float, Answer]
_LIMIT: Final = 1 << 14


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
        self._packings: dict[tuple[Cell, Stock, int, tuple[int, ...]], tuple[Packing, ...]] = {}

    def entered(self, component: Component) -> None:
        """Count a new component."""
        stock = self._stock_of(component)
        self._count(stock, stock.fit(component.state), 1)

    def left(self, component: Component) -> None:
        """Count a component no more."""
        stock = self._stock_of(component)
        self._count(stock, stock.fit(component.state), -1)

    def moved(self, component: Component, before: int) -> None:
        """Count what a change of state gained and lost."""
        stock = self._stock_of(component)
        self._count(stock, stock.fit(before), -1)
        self._count(stock, stock.fit(component.state), 1)

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
        stocks = [self._stock_of(components[number]) for number in planned.components]
        states = tuple([components[number].state for number in planned.components])
        if isinstance(case, PlainCase) and case.is_single:
            return self._in_one(planned, stocks[0], states[0])
        if len(case.order) == 1:
            return self._one(planned, stocks, states)
        return self._one_by_one(planned, stocks, states)

    def _in_one(self, planned: PlannedCase, stock: Stock, state: int) -> Priced | None:
        """Choose among the packings of the only component."""
        found = self._cheapest_packing(planned.case.members[0].cell, stock, state, planned.case.order)
        if found is None:
            return None
        price, packing = found
        return price, planned.answer(tuple([(0, position) for position in packing.positions]))

    def _one(self, planned: PlannedCase, stocks: Sequence[Stock], states: Sequence[int]) -> Priced | None:
        """Choose one device; of components that look alike the first."""
        best: tuple[float, int, int] | None = None
        seen: set[tuple[Cell, Stock, int]] = set()
        for number, member in enumerate(planned.case.members):
            key = (member.cell, stocks[number], states[number])
            if key not in seen:
                seen.add(key)
                found = self._cheapest_packing(*key, planned.case.order)
                if found is not None and (best is None or found[0] < best[0]):
                    best = found[0], number, found[1].positions[0]
        return None if best is None else (best[0], planned.answer((best[1:],)))

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

    def _cheapest_packing(
        self, cell: Cell, stock: Stock, state: int, order: tuple[int, ...]
    ) -> tuple[float, Packing] | None:
        key = (cell, stock, state, order)
        ways = self._packings.get(key)
        if ways is None:
            if len(self._packings) >= _LIMIT:
                self._packings.clear()
            ways = self._packings[key] = packings(cell, stock, state, order)
        best: tuple[float, Packing] | None = None
        for way in ways:
            price = self._price(stock, way.losses)
            if best is None or price < best[0]:
                best = price, way
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

    def _count(self, stock: Stock, fit: Fit, sign: int) -> None:
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
