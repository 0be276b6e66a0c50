"""The careful search: for claims that count vectors do not cover, on components that the tables do.

Depth first in listed order, as the plain search, over states instead of ledgers. A beginning that came to
nothing is remembered by what it had come to, however it came there. Of devices that stand for the same
thing only the first free one is tried, and nothing is tried where too little is left in number; but not
where a selector fails on some device: then every device is looked at just when the plain search would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scheduler_core.base.effort import Effort
from scheduler_core.base.limits import RESULTS
from scheduler_core.engine.claims.claim_signature import Kind, Want, choice_of
from scheduler_core.engine.claims.selector_cache import fail
from scheduler_core.engine.cluster.node_class import Site
from scheduler_core.engine.solve.compiled_claim import Look
from scheduler_core.engine.solve.plan import Answer
from scheduler_core.engine.tables.bits import positions
from scheduler_core.engine.tables.component import Component
from scheduler_core.model.claim import MatchAttribute
from scheduler_core.model.device import QualifiedName

Values = frozenset[tuple[type, object]]
_DEAD: Final = 1 << 17  # beginnings remembered before they are forgotten


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A device of the site.

    Shape: ``likeness`` is equal for devices that stand for the same thing; ``values`` what it has of the
           attribute of each rule.
    """

    number: int
    position: int
    likeness: object
    values: tuple[Values, ...]


class Careful:
    """One search.

    Shape: ``lists`` tells whether a list of values is compared by its members or is no value;
           ``is_exact`` whether a selector fails on some device.
    """

    def __init__(self, kind: Kind, site: Site, looks: Sequence[Look], *, lists: bool, effort: Effort) -> None:
        self._kind = kind
        self._site = site
        self._effort = effort
        self.is_exact = any(any(look.failed) for look in looks)
        self._places = list(_places(kind, site, looks, lists=lists))
        self._candidates = tuple(self._listed(looks, number) for number in range(len(kind.filters)))
        self._looks = looks
        self._watches = any(want.admin_access for slot in kind.slots for want in slot)
        self._alike: dict[object, list[Place]] = {}
        for place in self._places:
            self._alike.setdefault(place.likeness, []).append(place)
        self._states = [component.state for component in site.components]
        self._rules: list[Values | None] = [None] * len(kind.rules)
        self._counts = [0] * (1 + max((wants[0].claim for wants in kind.slots), default=0))
        self._chosen: list[tuple[int, list[Place]]] = []
        self._dead: set[object] = set()

    def first(self) -> Answer | None:
        """Return the first answer, None where there is none. Raises: SelectorError."""
        if not self._slot(0):
            return None
        options = tuple(option for option, _ in self._chosen)
        wants = tuple(slot[option] for slot, option in zip(self._kind.slots, options, strict=True))
        choice = choice_of(options, wants, [len(places) for _, places in self._chosen])
        picks = tuple((place.number, place.position) for _, places in self._chosen for place in places)
        return Answer(choice, picks, ())

    def _listed(self, looks: Sequence[Look], number: int) -> list[Place]:
        """Return the devices that a filter chooses, bars or fails on, in listed order."""
        masks = [look.chosen[number] | look.barred[number] | look.failed[number] for look in looks]
        return [place for place in self._places if masks[place.number] >> place.position & 1]

    def _slot(self, index: int) -> bool:
        if index == len(self._kind.slots):
            return True
        key = (index, self._now())
        if key in self._dead or not (self.is_exact or self._may_do(index)):
            return False
        if any(self._want(index, option, want) for option, want in enumerate(self._kind.slots[index])):
            return True
        self._note_dead(key)
        return False

    def _want(self, index: int, option: int, want: Want) -> bool:
        count = self._count(want)
        if count == 0 or self._counts[want.claim] + count + self._least_after(index) > RESULTS:
            return False
        self._counts[want.claim] += count
        self._chosen.append((option, []))
        if self._fill(index, want, count, 0):
            return True
        self._chosen.pop()
        self._counts[want.claim] -= count
        return False

    def _fill(self, index: int, want: Want, needed: int, start: int) -> bool:
        if needed == 0:
            return self._slot(index + 1)
        key = (index, self._chosen[index][0], needed, start, self._now())
        if key in self._dead:
            return False
        candidates, mine = self._candidates[want.filter], self._chosen[index][1]
        for offset in range(start, len(candidates) - needed + 1):
            place = candidates[offset]
            before = self._joined(want, place)
            if before is not None:
                mine.append(place)
                if self._fill(index, want, needed - 1, offset + 1):
                    return True
                mine.pop()
                self._states[place.number], self._rules = before
            if want.count is None:
                break
        self._note_dead(key)
        return False

    def _joined(self, want: Want, place: Place) -> tuple[int, list[Values | None]] | None:
        """Take a device, and return what was before; None where it cannot be taken."""
        look = self._looks[place.number]
        if look.failed[want.filter] >> place.position & 1:
            fail(self._kind.filters[want.filter].selectors, self._component(place), place.position)
        self._effort.step()
        if look.barred[want.filter] >> place.position & 1:
            return None
        if not self._is_open(want, place) or self._has_lower_twin(want, place):
            return None
        before = self._states[place.number], self._rules
        rules = list(self._rules)
        for rule in want.rules:
            joined = self._met(rule, place)
            if joined is None:
                return None
            rules[rule] = joined
        self._rules = rules
        if not want.admin_access:
            self._component(place).template.shape.free_after(before[0], place.position)
            self._states[place.number] = before[0] | 1 << place.position
        return before

    def _met(self, rule: int, place: Place) -> Values | None:
        """Return what a rule remembers once the device has joined, None where it may not."""
        known, values = self._rules[rule], place.values[rule]
        if isinstance(self._kind.rules[rule], MatchAttribute):
            return (values if known is None else known & values) or None
        if not values or (known is not None and known & values):
            return None
        return values if known is None else known | values

    def _is_free(self, place: Place) -> bool:
        free = self._component(place).template.shape.free(self._states[place.number])
        return bool(free >> place.position & 1)

    def _is_open(self, want: Want, place: Place) -> bool:
        """Whether the want could get the device now. Who looks on meets no device of the claim again."""
        if not self._watches:
            return self._is_free(place)
        others = ((self._want_of(index), places) for index, (_, places) in enumerate(self._chosen))
        mine = [(other, one) for other, places in others if other.claim == want.claim for one in places]
        if any(one is place and (want.admin_access or other.admin_access) for other, one in mine):
            return False
        return want.admin_access or self._is_free(place)

    def _want_of(self, index: int) -> Want:
        return self._kind.slots[index][self._chosen[index][0]]

    def _has_lower_twin(self, want: Want, place: Place) -> bool:
        """Whether a device that stands for the same thing could be had and is listed before."""
        if self.is_exact:
            return False
        is_free = self._is_free(place)
        for other in self._alike[place.likeness]:
            if other is place:
                return False
            if self._is_free(other) == is_free and self._is_open(want, other):
                return True
        raise AssertionError("a device is one of those that are like it")

    def _component(self, place: Place) -> Component:
        return self._site.components[place.number]

    def _count(self, want: Want) -> int:
        if want.count is not None:
            return want.count
        return len(self._candidates[want.filter]) if self._site.is_complete else 0

    def _least_after(self, index: int) -> int:
        """Return how many devices the later requests of the same claim need at least."""
        slots = self._kind.slots
        later = [slot for slot in slots[index + 1 :] if slot[0].claim == slots[index][0].claim]
        return sum(min(map(self._count, slot)) for slot in later)

    def _may_do(self, index: int) -> bool:
        """Whether there is enough in number from here on: devices, and values that differ."""
        free = self._free_counts()
        wanted: dict[int, int] = {}
        values: dict[int, int] = {}
        for slot in self._kind.slots[index:]:
            if not any(0 < self._count(want) <= self._most(want, free) for want in slot):
                return False
            if len(slot) == 1:
                want, count = slot[0], self._count(slot[0])
                wanted[want.filter] = wanted.get(want.filter, 0) + (0 if want.admin_access else count)
                for rule in want.rules:
                    values[rule] = values.get(rule, 0) + count
        if any(count > free[number] for number, count in wanted.items()):
            return False
        return all(self._may_differ(rule, count) for rule, count in values.items())

    def _free_counts(self) -> list[int]:
        """Return how many free devices would do, filter by filter."""
        pairs = zip(self._site.components, self._states, strict=True)
        frees = [component.template.shape.free(state) for component, state in pairs]
        return [
            sum(
                (free & look.chosen[number]).bit_count()
                for free, look in zip(frees, self._looks, strict=True)
            )
            for number in range(len(self._kind.filters))
        ]

    def _most(self, want: Want, free: Sequence[int]) -> int:
        return len(self._candidates[want.filter]) if want.admin_access else free[want.filter]

    def _may_differ(self, rule: int, count: int) -> bool:
        """Whether there are enough values for the devices that a distinctAttribute still binds."""
        if isinstance(self._kind.rules[rule], MatchAttribute):
            return True
        bound = {want for slot in self._kind.slots for want in slot if rule in want.rules}
        taken = self._rules[rule] or frozenset()
        left = {
            place.values[rule]
            for want in bound
            for place in self._candidates[want.filter]
            if want.admin_access or self._is_free(place)
        }
        return sum(bool(values) and not values & taken for values in left) >= count

    def _now(self) -> object:
        """Return what the rest of the search depends on."""
        watched = (
            frozenset(
                (self._want_of(index).claim, self._want_of(index).admin_access, place)
                for index, (_, places) in enumerate(self._chosen)
                for place in places
            )
            if self._watches
            else None
        )
        return tuple(self._states), tuple(self._rules), tuple(self._counts), watched

    def _note_dead(self, key: object) -> None:
        if len(self._dead) >= _DEAD:
            self._dead.clear()
        self._dead.add(key)


def _places(kind: Kind, site: Site, looks: Sequence[Look], *, lists: bool) -> Iterator[Place]:
    """Yield every device of the site, in listed order."""
    found = []
    attributes = [rule.attribute for rule in kind.rules]
    for number, (component, look) in enumerate(zip(site.components, looks, strict=True)):
        shape = component.template.shape
        columns = [_values(component, attribute, lists=lists) for attribute in attributes]
        for position in positions(site.roster.usable[number]):
            values = tuple(column.get(position, frozenset()) for column in columns)
            chosen = tuple(mask >> position & 1 for masks in (look.chosen, look.barred) for mask in masks)
            where = shape if shape.size == 1 else (number, shape.twins[position])
            place = Place(number, position, (where, chosen, values), values)
            found.append((site.roster.ranks[number][position], place))
    found.sort(key=lambda entry: entry[0])
    for _, place in found:
        yield place


def _values(component: Component, attribute: QualifiedName, *, lists: bool) -> dict[int, Values]:
    """Return what constraints compare, by position."""
    found = {}
    for value, mask in component.template.blocks(attribute, component.own):
        if isinstance(value, tuple) and not lists:
            continue
        several = value if isinstance(value, tuple) else (value,)
        values: Values = frozenset((type(each), each) for each in several)
        for position in positions(mask):
            found[position] = values
    return found
