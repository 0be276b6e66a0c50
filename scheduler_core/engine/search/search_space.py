"""The search space: the devices of a node that some request may get, prepared for the backtracking search.

A set of devices is an integer; bit *n* is the *n*-th of these devices in listed order. A search space depends
only on the published pools; which devices are in use is an input of each search. Nodes with equal node
signatures share a search space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from scheduler_core.engine.claims.claim_signature import Alternative, ClaimSignature
from scheduler_core.engine.search.attribute_values import AttributeValues, attribute_values, members, whole
from scheduler_core.engine.search.options import MatchedPositions, RequestOption
from scheduler_core.engine.search.search_rules import DistinctRule, MatchRule, SameScopeRule, SearchRule
from scheduler_core.model.claim import (
    Constraint,
    DistinctAttribute,
    ExclusiveScope,
    MatchAttribute,
    PreferScope,
    SameScope,
)
from scheduler_core.model.device import QualifiedName
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.bits import mask_of, positions


class SearchSpace:
    """The devices of a node that some request of a signature may get.

    Shape: ``devices`` the component and position of each; ``masks`` the devices of each component;
           ``requests`` the options of each; ``rules`` has None for constraints that depend on the devices in
           use, or that prefer scopes; ``fails``: some selector fails on some device; ``claims`` their
           number; ``shareable`` the devices that several claims may use.
    """

    def __init__(
        self,
        signature: ClaimSignature,
        node_view: NodeView,
        matched: Sequence[MatchedPositions],
        *,
        lists: bool,
    ) -> None:
        self.signature = signature
        self._lists = lists
        self._components = node_view.components
        self.devices = tuple(_devices(node_view, matched))
        self._bits: list[dict[int, int]] = [{} for _ in matched]
        for bit, (number, position) in enumerate(self.devices):
            self._bits[number][position] = bit
        self._mapped: list[dict[int, int]] = [{} for _ in matched]
        self.relevant = tuple(mask_of(bits) for bits in self._bits)
        self.masks = tuple(mask_of(bits.values()) for bits in self._bits)
        tables = [one.tables for one in node_view.node_class.templates]
        self.tables = tuple(tables)
        self.shareable = self._shareable()
        self.fails = any(any(one.failed) for one in matched)
        self._by_attribute: dict[QualifiedName, AttributeValues] = {}
        self._filters = self._joined(matched)
        self.preferred = tuple(i for i, one in enumerate(signature.rules) if isinstance(one, PreferScope))
        self.exclusive = tuple(i for i, one in enumerate(signature.rules) if isinstance(one, ExclusiveScope))
        self.requests = tuple(tuple(map(self._option, options)) for options in signature.requests)
        self.claims = 1 + max((options[0].claim for options in signature.requests), default=0)
        self.rules = tuple(self._rule(rule, number) for number, rule in enumerate(signature.rules))
        self._preferred_rules: dict[tuple[int, int], SearchRule] = {}
        self.last_request = tuple(self._last_request(number) for number in range(len(signature.rules)))

    def to_devices(self, number: int, mask: int) -> int:
        """Return the devices at some positions of a component, without those that no request may get."""
        mask &= self.relevant[number]
        known = self._mapped[number]
        found = known.get(mask)
        if found is None:
            bits = self._bits[number]
            found = known[mask] = mask_of([bits[position] for position in positions(mask)])
        return found

    def levels(self, rule: int) -> int:
        """Return how many scopes a rule names that prefers scopes."""
        constraint = self.signature.rules[rule]
        assert isinstance(constraint, PreferScope)
        return len(constraint.scopes)

    def prefer_rule(self, rule: int, level: int) -> SearchRule | None:
        """Return the rule for one preferred scope, None after the last one: then nothing is required."""
        constraint = self.signature.rules[rule]
        assert isinstance(constraint, PreferScope)
        if level == len(constraint.scopes):
            return None
        found = self._preferred_rules.get((rule, level))
        if found is None:
            found = MatchRule(self.typed_values(constraint.scopes[level]))
            self._preferred_rules[rule, level] = found
        return found

    def typed_values(self, attribute: QualifiedName, *, lists: bool = True) -> AttributeValues:
        """Return the values of an attribute as match and distinct constraints compare them."""
        return attribute_values(
            self._components, attribute, self.to_devices, lambda value: members(value, lists=lists)
        )

    def scope_values(self, attribute: QualifiedName) -> AttributeValues:
        """Return the values of an attribute as scopes compare them."""
        found = self._by_attribute.get(attribute)
        if found is None:
            found = attribute_values(self._components, attribute, self.to_devices, whole)
            self._by_attribute[attribute] = found
        return found

    def _last_request(self, rule: int) -> int:
        """Return the last request that a rule binds, -1 where it binds none."""
        bound = [
            number
            for number, options in enumerate(self.requests)
            if any(rule == one for option in options for one, _ in option.rules)
        ]
        return bound[-1] if bound else -1

    def totals(self, device: int) -> tuple[int, ...]:
        """Return the capacities of a shareable device, in its order. Units: billionths."""
        number, position = self.devices[device]
        capacity = self._components[number].template.structure_class.device_facts[position].capacity
        return tuple([amount.nano for amount in capacity.values()])

    def _shareable(self) -> int:
        found = 0
        for number, component in enumerate(self._components):
            found |= self.to_devices(number, component.template.structure_class.shareable)
        return found

    def _joined(self, matched: Sequence[MatchedPositions]) -> list[tuple[int, int, int]]:
        """Return, per filter, the devices that are chosen, barred, and on which a selector fails."""
        filters = []
        for number in range(len(self.signature.filters)):
            chosen = barred = failed = 0
            for component, one in enumerate(matched):
                chosen |= self.to_devices(component, one.chosen[number])
                barred |= self.to_devices(component, one.barred[number])
                failed |= self.to_devices(component, one.failed[number])
            filters.append((chosen, barred, failed))
        return filters

    def _option(self, alternative: Alternative) -> RequestOption:
        chosen, barred, failed = self._filters[alternative.filter]
        rules = self.signature.rules
        return RequestOption(
            alternative=alternative,
            count=alternative.count,
            candidates=chosen | barred | failed,
            chosen=chosen,
            failed=failed,
            rules=tuple((rule, _seat(rules[rule], alternative.name)) for rule in alternative.rules),
            shares=dict(self._shares(alternative, chosen & self.shareable)),
        )

    def _shares(self, alternative: Alternative, devices: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        for device in positions(devices):
            number, position = self.devices[device]
            share = self._components[number].template.structure_class.share(position, alternative.capacity)
            assert share is not None, "a device is chosen only where it can give the share"
            yield device, tuple(amount.nano for amount in share)

    def _rule(self, constraint: Constraint, number: int) -> SearchRule | None:
        match constraint:
            case MatchAttribute(attribute=attribute):
                return MatchRule(self.typed_values(attribute, lists=self._lists))
            case DistinctAttribute(attribute=attribute):
                return DistinctRule(self.typed_values(attribute, lists=self._lists))
            case SameScope():
                return self._same_scope(constraint, number)
            case PreferScope() | ExclusiveScope():
                return None

    def _same_scope(self, constraint: SameScope, rule: int) -> SearchRule:
        groups: list[list[RequestOption]] = [[] for _ in constraint.groups]
        open_groups: set[int] = set()
        for options in self.requests:
            for option in options:
                for seat in [seat for number, seat in option.rules if number == rule]:
                    groups[seat].append(option)
                    if len(options) > 1:
                        open_groups.add(seat)
        candidates = 0
        for group in groups:
            for option in group:
                candidates |= option.candidates
        values = self.scope_values(self.compared(constraint.scopes, candidates))
        sizes = [
            None if seat in open_groups else sum(_size(option) for option in group)
            for seat, group in enumerate(groups)
        ]
        return SameScopeRule(values, sizes, _reachable(values, groups))

    def compared(self, scopes: Sequence[QualifiedName], devices: int) -> QualifiedName:
        """Return the first scope that all of some devices have, the last one where none is."""
        found = (one for one in scopes if not devices & ~self.scope_values(one).present)
        return next(found, scopes[-1])

    @cached_property
    def twins(self) -> tuple[int, ...]:
        """Return, per device, the earlier devices of its component that are interchangeable with it.

        Twins are exclusive devices. A shareable one is left out on both sides: it can serve the next
        request too, which an exclusive one of equal draws cannot, and shares leave different amounts.
        """
        return tuple(self._lower_twins())

    def _lower_twins(self) -> Iterator[int]:
        marks: list[int] = [mask for one in self._filters for mask in one]
        compared = [
            rule.values for rule in self.rules if isinstance(rule, MatchRule | DistinctRule | SameScopeRule)
        ]
        scopes = {
            scope for i in self.preferred + self.exclusive for scope in _scopes(self.signature.rules[i])
        }
        compared += [self.scope_values(scope) for scope in sorted(scopes)]
        for device, (number, position) in enumerate(self.devices):
            if self.shareable >> device & 1:
                yield 0
                continue
            lower = self.to_devices(number, self.tables[number].twins[position] & ((1 << position) - 1))
            lower &= (1 << device) - 1 & ~self.shareable
            for mask in marks:
                lower &= mask if mask >> device & 1 else ~mask
            for values in compared if lower else ():
                mine = values.of.get(device, 0)
                lower &= mask_of([one for one in positions(lower) if values.of.get(one, 0) == mine])
            yield lower


def _devices(node_view: NodeView, matched: Sequence[MatchedPositions]) -> list[tuple[int, int]]:
    """Return the devices that some filter matches, in listed order."""
    found = []
    for number, (ranks, one) in enumerate(zip(node_view.node_class.ranks, matched, strict=True)):
        seen = 0
        for mask in (*one.chosen, *one.barred, *one.failed):
            seen |= mask
        found += [(ranks[position], number, position) for position in positions(seen)]
    return [(number, position) for _, number, position in sorted(found)]


def _seat(constraint: Constraint, name: str) -> int:
    return constraint.group_of(name) if isinstance(constraint, SameScope) else 0


def _size(option: RequestOption) -> int:
    return option.candidates.bit_count() if option.count is None else option.count


def _reachable(values: AttributeValues, groups: Sequence[Sequence[RequestOption]]) -> int:
    """Return the scopes in which every group has a candidate."""
    found = -1 if groups else 0
    for group in groups:
        mine = 0
        for option in group:
            for scope, holders in enumerate(values.holders):
                if holders & option.candidates:
                    mine |= 1 << scope
        found &= mine
    return max(found, 0)


def _scopes(constraint: Constraint) -> tuple[QualifiedName, ...]:
    match constraint:
        case PreferScope(scopes=scopes):
            return scopes
        case ExclusiveScope(scopes=scopes, kind=kind):
            return (*scopes, kind) if kind is not None else scopes
        case _:
            return ()
