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
from scheduler_core.engine.claims.claim_signature import Alternative, ClaimSignature, chosen_of
from scheduler_core.engine.claims.selector_cache import fail
from scheduler_core.engine.solve.compiled_claim import MatchedPositions
from scheduler_core.engine.solve.plan import Answer
from scheduler_core.model.claim import MatchAttribute
from scheduler_core.model.device import QualifiedName
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import Component

Values = frozenset[tuple[type, object]]
_DEAD: Final = 1 << 17  # beginnings remembered before they are forgotten


@dataclass(frozen=True, slots=True, eq=False)
class ListedDevice:
    """A device of the site.

    Shape: ``likeness`` is equal for devices that stand for the same thing; ``values`` what it has of the
           attribute of each rule.
    """

    number: int
    position: int
    equivalence: object
    values: tuple[Values, ...]


class BacktrackingSearch:
    """One search.

    Shape: ``lists`` tells whether a list of values is compared by its members or is no value;
           ``is_exact`` whether a selector fails on some device.
    """

    def __init__(
        self,
        signature: ClaimSignature,
        node_view: NodeView,
        matched: Sequence[MatchedPositions],
        *,
        lists: bool,
        effort: Effort,
    ) -> None:
        self._signature = signature
        self._node_view = node_view
        self._effort = effort
        self.is_exact = any(any(found_in.failed) for found_in in matched)
        self._devices = list(_devices(signature, node_view, matched, lists=lists))
        self._candidates = tuple(self._listed(matched, number) for number in range(len(signature.filters)))
        self._matched = matched
        self._watches = any(alternative.admin_access for slot in signature.slots for alternative in slot)
        self._equivalent: dict[object, list[ListedDevice]] = {}
        for listed in self._devices:
            self._equivalent.setdefault(listed.equivalence, []).append(listed)
        self._states = [component.state for component in node_view.components]
        self._rules: list[Values | None] = [None] * len(signature.rules)
        self._counts = [0] * (1 + max((alternatives[0].claim for alternatives in signature.slots), default=0))
        self._chosen: list[tuple[int, list[ListedDevice]]] = []
        self._dead: set[object] = set()

    def first(self) -> Answer | None:
        """Return the first answer, None where there is none. Raises: SelectorError."""
        if not self._slot(0):
            return None
        options = tuple(option for option, _ in self._chosen)
        alternatives = tuple(
            slot[option] for slot, option in zip(self._signature.slots, options, strict=True)
        )
        choice = chosen_of(options, alternatives, [len(devices) for _, devices in self._chosen])
        picks = tuple((listed.number, listed.position) for _, devices in self._chosen for listed in devices)
        return Answer(choice, picks, ())

    def _listed(self, matched: Sequence[MatchedPositions], number: int) -> list[ListedDevice]:
        """Return the devices that a filter chooses, bars or fails on, in listed order."""
        masks = [
            found_in.chosen[number] | found_in.barred[number] | found_in.failed[number]
            for found_in in matched
        ]
        return [listed for listed in self._devices if masks[listed.number] >> listed.position & 1]

    def _slot(self, index: int) -> bool:
        if index == len(self._signature.slots):
            return True
        key = (index, self._now())
        if key in self._dead or not (self.is_exact or self._may_do(index)):
            return False
        if any(
            self._want(index, option, alternative)
            for option, alternative in enumerate(self._signature.slots[index])
        ):
            return True
        self._note_dead(key)
        return False

    def _want(self, index: int, option: int, alternative: Alternative) -> bool:
        count = self._count(alternative)
        if count == 0 or self._counts[alternative.claim] + count + self._least_after(index) > RESULTS:
            return False
        self._counts[alternative.claim] += count
        self._chosen.append((option, []))
        if self._fill(index, alternative, count, 0):
            return True
        self._chosen.pop()
        self._counts[alternative.claim] -= count
        return False

    def _fill(self, index: int, alternative: Alternative, needed: int, start: int) -> bool:
        if needed == 0:
            return self._slot(index + 1)
        key = (index, self._chosen[index][0], needed, start, self._now())
        if key in self._dead:
            return False
        candidates, mine = self._candidates[alternative.filter], self._chosen[index][1]
        for offset in range(start, len(candidates) - needed + 1):
            listed = candidates[offset]
            before = self._joined(alternative, listed)
            if before is not None:
                mine.append(listed)
                if self._fill(index, alternative, needed - 1, offset + 1):
                    return True
                mine.pop()
                self._states[listed.number], self._rules = before
            if alternative.count is None:
                break
        self._note_dead(key)
        return False

    def _joined(
        self, alternative: Alternative, listed: ListedDevice
    ) -> tuple[int, list[Values | None]] | None:
        """Take a device, and return what was before; None where it cannot be taken."""
        found_in = self._matched[listed.number]
        if found_in.failed[alternative.filter] >> listed.position & 1:
            fail(
                self._signature.filters[alternative.filter].selectors,
                self._component(listed),
                listed.position,
            )
        self._effort.step()
        if found_in.barred[alternative.filter] >> listed.position & 1:
            return None
        if not self._is_open(alternative, listed) or self._has_lower_twin(alternative, listed):
            return None
        before = self._states[listed.number], self._rules
        rules = list(self._rules)
        for rule in alternative.rules:
            joined = self._met(rule, listed)
            if joined is None:
                return None
            rules[rule] = joined
        self._rules = rules
        if not alternative.admin_access:
            self._component(listed).template.tables.free_after(before[0], listed.position)
            self._states[listed.number] = before[0] | 1 << listed.position
        return before

    def _met(self, rule: int, listed: ListedDevice) -> Values | None:
        """Return what a rule remembers once the device has joined, None where it may not."""
        known, values = self._rules[rule], listed.values[rule]
        if isinstance(self._signature.rules[rule], MatchAttribute):
            return (values if known is None else known & values) or None
        if not values or (known is not None and known & values):
            return None
        return values if known is None else known | values

    def _is_free(self, listed: ListedDevice) -> bool:
        free = self._component(listed).template.tables.free(self._states[listed.number])
        return bool(free >> listed.position & 1)

    def _is_open(self, alternative: Alternative, listed: ListedDevice) -> bool:
        """Whether the want could get the device now. Who looks on meets no device of the claim again."""
        if not self._watches:
            return self._is_free(listed)
        others = ((self._want_of(index), devices) for index, (_, devices) in enumerate(self._chosen))
        mine = [
            (other, one) for other, devices in others if other.claim == alternative.claim for one in devices
        ]
        if any(one is listed and (alternative.admin_access or other.admin_access) for other, one in mine):
            return False
        return alternative.admin_access or self._is_free(listed)

    def _want_of(self, index: int) -> Alternative:
        return self._signature.slots[index][self._chosen[index][0]]

    def _has_lower_twin(self, alternative: Alternative, listed: ListedDevice) -> bool:
        """Whether a device that stands for the same thing could be had and is listed before."""
        if self.is_exact:
            return False
        is_free = self._is_free(listed)
        for other in self._equivalent[listed.equivalence]:
            if other is listed:
                return False
            if self._is_free(other) == is_free and self._is_open(alternative, other):
                return True
        raise AssertionError("a device is one of those that are like it")

    def _component(self, listed: ListedDevice) -> Component:
        return self._node_view.components[listed.number]

    def _count(self, alternative: Alternative) -> int:
        if alternative.count is not None:
            return alternative.count
        return len(self._candidates[alternative.filter]) if self._node_view.is_complete else 0

    def _least_after(self, index: int) -> int:
        """Return how many devices the later requests of the same claim need at least."""
        slots = self._signature.slots
        later = [slot for slot in slots[index + 1 :] if slot[0].claim == slots[index][0].claim]
        return sum(min(map(self._count, slot)) for slot in later)

    def _may_do(self, index: int) -> bool:
        """Whether there is enough in number from here on: devices, and values that differ."""
        free = self._free_counts()
        wanted: dict[int, int] = {}
        values: dict[int, int] = {}
        for slot in self._signature.slots[index:]:
            if not any(0 < self._count(alternative) <= self._most(alternative, free) for alternative in slot):
                return False
            if len(slot) == 1:
                alternative, count = slot[0], self._count(slot[0])
                wanted[alternative.filter] = wanted.get(alternative.filter, 0) + (
                    0 if alternative.admin_access else count
                )
                for rule in alternative.rules:
                    values[rule] = values.get(rule, 0) + count
        if any(count > free[number] for number, count in wanted.items()):
            return False
        return all(self._may_differ(rule, count) for rule, count in values.items())

    def _free_counts(self) -> list[int]:
        """Return how many free devices would do, filter by filter."""
        pairs = zip(self._node_view.components, self._states, strict=True)
        frees = [component.template.tables.free(state) for component, state in pairs]
        return [
            sum(
                (free & found_in.chosen[number]).bit_count()
                for free, found_in in zip(frees, self._matched, strict=True)
            )
            for number in range(len(self._signature.filters))
        ]

    def _most(self, alternative: Alternative, free: Sequence[int]) -> int:
        return (
            len(self._candidates[alternative.filter])
            if alternative.admin_access
            else free[alternative.filter]
        )

    def _may_differ(self, rule: int, count: int) -> bool:
        """Whether there are enough values for the devices that a distinctAttribute still binds."""
        if isinstance(self._signature.rules[rule], MatchAttribute):
            return True
        bound = {
            alternative for slot in self._signature.slots for alternative in slot if rule in alternative.rules
        }
        taken = self._rules[rule] or frozenset()
        left = {
            listed.values[rule]
            for alternative in bound
            for listed in self._candidates[alternative.filter]
            if alternative.admin_access or self._is_free(listed)
        }
        return sum(bool(values) and not values & taken for values in left) >= count

    def _now(self) -> object:
        """Return what the rest of the search depends on."""
        watched = (
            frozenset(
                (self._want_of(index).claim, self._want_of(index).admin_access, listed)
                for index, (_, devices) in enumerate(self._chosen)
                for listed in devices
            )
            if self._watches
            else None
        )
        return tuple(self._states), tuple(self._rules), tuple(self._counts), watched

    def _note_dead(self, key: object) -> None:
        if len(self._dead) >= _DEAD:
            self._dead.clear()
        self._dead.add(key)


def _devices(
    signature: ClaimSignature, node_view: NodeView, matched: Sequence[MatchedPositions], *, lists: bool
) -> Iterator[ListedDevice]:
    """Yield every device of the site, in listed order."""
    found = []
    attributes = [rule.attribute for rule in signature.rules]
    for number, (component, found_in) in enumerate(zip(node_view.components, matched, strict=True)):
        tables = component.template.tables
        columns = [_values(component, attribute, lists=lists) for attribute in attributes]
        for position in positions(node_view.node_class.usable[number]):
            values = tuple(column.get(position, frozenset()) for column in columns)
            chosen = tuple(
                mask >> position & 1 for masks in (found_in.chosen, found_in.barred) for mask in masks
            )
            where = tables if tables.size == 1 else (number, tables.twins[position])
            listed = ListedDevice(number, position, (where, chosen, values), values)
            found.append((node_view.node_class.ranks[number][position], listed))
    found.sort(key=lambda entry: entry[0])
    for _, listed in found:
        yield listed


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
