"""A compiled claim: a claim signature with everything that was computed for it, node by node.

Nodes with equal node signatures share a plan and a search space. A node signature depends on the values that
the claim's selectors read, and on which of the values that its constraints compare are equal to each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.claims.claim_signature import ClaimSignature, Filter
from scheduler_core.engine.claims.node_signature import NodeSignatures, node_signatures_of
from scheduler_core.engine.claims.relaxed_signature import RelaxedSignature, relaxed_signatures
from scheduler_core.engine.claims.selector_cache import SelectorCache, Selectors, open_slots
from scheduler_core.engine.per_node import PerNode
from scheduler_core.engine.pinned_claim import pinned_matches, pinned_signature
from scheduler_core.engine.search.match_values import MatchValues
from scheduler_core.engine.search.options import MatchedPositions
from scheduler_core.engine.search.search_solver import PreparedSearch
from scheduler_core.engine.search.search_space import SearchSpace
from scheduler_core.engine.solve.columns import Blocks, ClaimMatches, LowerSwitch
from scheduler_core.engine.solve.coverage import Coverage, Covered, Uncovered
from scheduler_core.engine.solve.plan import NodePlan
from scheduler_core.engine.solve.planner import MOST_SUBPROBLEMS, Planner
from scheduler_core.engine.solve.subproblem import BeyondTables
from scheduler_core.model.claim import Constraint, DistinctAttribute, ExclusiveScope, MatchAttribute
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.places import SWITCH, SWITCH_PATH, switch_levels
from scheduler_core.rules.selectors import compile_selector
from scheduler_core.search.pinned import Pins
from scheduler_core.state.node_class import NodeClass, NodeView
from scheduler_core.tables.component import Component
from scheduler_core.tables.component_template import ComponentTemplate
from scheduler_core.tables.entries import identity
from scheduler_core.tables.occupancy import OccupancyTables

_FEW_SUBPROBLEMS: Final = 16
"""The most subproblems that a plan of relaxed claims may have."""


class CompiledClaim:
    """A claim signature with its plans and search spaces.

    Shape: ``plans`` are those known so far, of nodes that the tables cover; ``lists`` says whether
           constraints compare lists by their members; if not, a list counts as no value.
    """

    def __init__(
        self, signature: ClaimSignature, planner: Planner, selector_cache: SelectorCache, *, lists: bool
    ) -> None:
        self.signature = signature
        self._lists = lists
        self._planner = planner
        self._selector_cache = selector_cache
        self.plans: dict[NodeView, NodePlan] = {}
        self._gaps: dict[NodeView, Uncovered] = {}
        self._plans = PerNode(self._planned, self._signature_on)
        self._searches = PerNode(self._new_search, self._signature_on)
        self._relaxed = [
            PerNode(partial(self._new_relaxed, first), self._signature_on)
            for first in range(max(1, len(signature.requests)))
        ]
        self._signatures_by_class: dict[NodeClass, NodeSignatures] = {}
        self._same_matches: dict[tuple[NodeClass, ClaimMatches], Coverage] = {}
        self._excludes = any(isinstance(rule, ExclusiveScope) for rule in signature.rules)
        self._slots: dict[ComponentTemplate, tuple[int, ...]] = {}
        self._matched_by_values: dict[tuple[ComponentTemplate, tuple[object, ...]], MatchedPositions] = {}

    def is_in_tables(self, node_view: NodeView) -> bool:
        """Whether tables have all that the claim compares; if not, the plain search answers."""
        return node_view.is_compiled and not self.signature.derives

    def coverage(self, node_view: NodeView) -> Coverage:
        """Return the plan for a node, or why the tables do not cover the claim there."""
        known = self._gaps.get(node_view)
        if known is not None:
            return known
        gap = self.signature.gap or _gap_of(node_view)
        found = self._plans.of(node_view) if gap is None else Uncovered(gap)
        if isinstance(found, Covered):
            self.plans[node_view] = found.plan
        else:
            self._gaps[node_view] = found
        return found

    def structures(self, node_view: NodeView) -> frozenset[OccupancyTables]:
        """Return the structures of the components in which some request matches a device."""
        pairs = zip(node_view.components, self._matched_on(node_view), strict=True)
        return frozenset(one.template.tables for one, matched in pairs if any(matched.chosen))

    def search(self, node_view: NodeView) -> PreparedSearch:
        """Return the search space of a node for the backtracking search."""
        return self._searches.of(node_view)

    def pinned_search(self, node_view: NodeView, pins: Pins) -> PreparedSearch:
        """Return a search space in which some requests must get chosen devices. It is not kept."""
        signature = pinned_signature(self.signature, pins)
        pairs = zip(node_view.components, self._matched_on(node_view), strict=True)
        matched = [pinned_matches(self.signature, pins, component, one) for component, one in pairs]
        space = SearchSpace(signature, node_view, matched, lists=self._lists)
        return PreparedSearch(space, MatchValues(space, self._planner.view))

    def likeness(self, node_view: NodeView) -> Hashable:
        """Return a key that is equal for nodes which answer alike: their signature and what is in use.

        None where answers depend on more than that.
        """
        is_plain = self.is_in_tables(node_view) and not node_view.is_sealed and not node_view.judges
        signature = self._signature_on(node_view) if is_plain else None
        if signature is None:
            return None
        components = node_view.components
        if self._excludes and len(components) < sum(len(pool.components) for pool in node_view.pools):
            return None  # rivals among devices of other nodes count too, and the node's view has none of them
        consumed = tuple(
            [(number, *sorted(one.consumed.items())) for number, one in enumerate(components) if one.consumed]
        )
        states = tuple([one.state for one in components])
        return signature, node_view.is_complete, states, consumed

    def pools(self, node_view: NodeView) -> set[tuple[str, str]]:
        """Return the driver and name of each pool that has a device which some filter matches."""
        pairs = zip(node_view.components, self._matched_on(node_view), strict=True)
        return {
            (component.pool.driver, component.pool.name)
            for component, one in pairs
            if any((*one.chosen, *one.failed))
        }

    def may_fit(self, node_view: NodeView, first: int, states: Sequence[int]) -> bool:
        """Whether the requests from number ``first`` on may fit into states of the node's components.

        "No" is certain: then not even their relaxations fit.
        """
        return all(_may_fit(one, states) for one in self._relaxed[first].of(node_view))

    def forget(self, node_view: NodeView) -> None:
        """Forget a node view that was dropped."""
        self.plans.pop(node_view, None)
        self._gaps.pop(node_view, None)
        self._plans.forget(node_view)
        self._searches.forget(node_view)
        for relaxed in self._relaxed:
            relaxed.forget(node_view)

    def _signature_on(self, node_view: NodeView) -> Hashable:
        """Return the node's signature, None where a compared value is no string."""
        signature = self._signatures(node_view).of(node_view.components)
        return None if signature is None else (node_view.node_class, signature)

    def _signatures(self, node_view: NodeView) -> NodeSignatures:
        found = self._signatures_by_class.get(node_view.node_class)
        if found is None:
            slots = [self._read_on(one.template, node_view) for one in node_view.components]
            attributes = {name for rule in self.signature.rules for name in _compared(rule)}
            found = node_signatures_of(node_view.components, slots, attributes)
            self._signatures_by_class[node_view.node_class] = found
        return found

    def _read_on(self, template: ComponentTemplate, node_view: NodeView) -> Sequence[int]:
        """Return the own entries of a component that decide what suits the claims, beside equal values.

        The selectors read them; so do the expressions of the node's devices about each other. The kind by
        which a claim knows its rivals is compared with names in the claim, not with other devices. A path of
        switches is compared by its beginning.
        """
        rules = self.signature.rules
        names = [rule.kind for rule in rules if isinstance(rule, ExclusiveScope) and rule.kind]
        names += [path for rule in rules if (path := _path_beside(rule)) is not None]
        if not names and not node_view.judges:
            return self._slots_of(template)
        templates = dict.fromkeys(node_view.node_class.templates)
        texts = {facts.only_with for one in templates for facts in one.structure_class.device_facts}
        judges = [selectors for text in texts if text is not None and (selectors := _compiled(text))]
        found = {slot for selectors in judges for slot in open_slots(selectors, template)}
        found |= {
            template.slots[location.entry]
            for name in names
            for location in template.structure_class.locations(name)
            if location.entry in template.slots
        }
        return sorted(found.union(self._slots_of(template)))

    def _planned(self, node_view: NodeView) -> Coverage:
        matched = self._matched_on(node_view)
        if any(any(one.failed) for one in matched):
            return Uncovered("a selector or an amount fails on some device")
        if self._meets_shareable(node_view, matched):
            return Uncovered("a request matches shareable devices")
        values = [self._values(node_view, rule) for rule in self.signature.rules]
        if any(one is None for one in values):
            return Uncovered("a constraint compares lists that overlap in part")
        nearer = ((number, self._nearer(node_view, rule)) for number, rule in enumerate(self.signature.rules))
        matches = ClaimMatches(
            tuple(one.chosen for one in matched),
            tuple(one for one in values if one is not None),
            tuple((number, switches) for number, switches in nearer if switches),
        )
        key = (node_view.node_class, matches)
        found = self._same_matches.get(key)
        if found is None:
            found = self._planner.plan(self.signature, node_view.node_class, matches)
            self._same_matches[key] = found
        return found

    def _new_search(self, node_view: NodeView) -> PreparedSearch:
        space = SearchSpace(self.signature, node_view, self._matched_on(node_view), lists=self._lists)
        return PreparedSearch(space, MatchValues(space, self._planner.view))

    def _new_relaxed(self, first: int, node_view: NodeView) -> tuple[Coverage, ...]:
        matched = self._matched_on(node_view)
        most = MOST_SUBPROBLEMS if first == 0 else _FEW_SUBPROBLEMS
        return tuple(
            self._planner.plan(one.signature, node_view.node_class, matches, most)
            for one in relaxed_signatures(self.signature, first, self._shared_filters(node_view, matched))
            if (matches := self._relaxed_matches(one, node_view, matched)) is not None
        )

    def _shared_filters(self, node_view: NodeView, matched: Sequence[MatchedPositions]) -> set[int]:
        """Return the filters that match shareable devices."""
        shareable = [one.structure_class.shareable for one in node_view.node_class.templates]
        return {
            number
            for mask, one in zip(shareable, matched, strict=True)
            for number, chosen in enumerate(one.chosen)
            if mask & chosen
        }

    def _relaxed_matches(
        self, relaxed: RelaxedSignature, node_view: NodeView, matched: Sequence[MatchedPositions]
    ) -> ClaimMatches | None:
        values = [self._values(node_view, rule) for rule in relaxed.signature.rules]
        if any(one is None for one in values):
            return None
        chosen = tuple(
            tuple(_union(one.chosen[number] for number in union) for union in relaxed.unions)
            for one in matched
        )
        return ClaimMatches(chosen, tuple(one for one in values if one is not None))

    def _matched_on(self, node_view: NodeView) -> tuple[MatchedPositions, ...]:
        """Return the positions that each filter matches in each component, of those that the node may use."""
        pairs = zip(node_view.components, node_view.node_class.usable, strict=True)
        return tuple([self._matched_in(component).within(usable) for component, usable in pairs])

    def _meets_shareable(self, node_view: NodeView, matched: Sequence[MatchedPositions]) -> bool:
        """Whether a request matches shareable devices."""
        return any(
            template.structure_class.shareable & _union((*one.chosen, *one.barred, *one.failed))
            for template, one in zip(node_view.node_class.templates, matched, strict=True)
            if template.structure_class.is_shared
        )

    def _matched_in(self, component: Component) -> MatchedPositions:
        template = component.template
        key = (template, tuple([identity(component.own[slot]) for slot in self._slots_of(template)]))
        found = self._matched_by_values.get(key)
        if found is None:
            answers = [self._masks(one, component) for one in self.signature.filters]
            chosen, barred, failed = zip(*answers, strict=True) if answers else ((), (), ())
            found = self._matched_by_values[key] = MatchedPositions(chosen, barred, failed)
        return found

    def _masks(self, wanted: Filter, component: Component) -> tuple[int, int, int]:
        structure_class = component.template.structure_class
        chosen, failed = self._selector_cache.masks(wanted.selectors, component)
        if wanted.capacity and (structure_class.is_shared or len(wanted.capacity) > 1):
            failed |= chosen & structure_class.with_amount_errors(wanted.capacity)
        if wanted.capacity or structure_class.is_shared:
            chosen &= structure_class.with_capacity(wanted.capacity)
        barred = chosen & structure_class.barred(wanted.tolerations) if wanted.tolerations is not None else 0
        return chosen & ~barred, barred, failed

    def _slots_of(self, template: ComponentTemplate) -> tuple[int, ...]:
        slots = self._slots.get(template)
        if slots is None:
            read = {slot for one in self.signature.filters for slot in open_slots(one.selectors, template)}
            slots = self._slots[template] = tuple(sorted(read))
        return slots

    def _values(self, node_view: NodeView, rule: Constraint) -> tuple[Blocks, ...] | None:
        """Return the values that a rule compares, numbered in the order in which they are found.

        A list counts as one value. None where two different lists have a member in common.
        """
        assert isinstance(rule, MatchAttribute | DistinctAttribute)
        numbers: dict[frozenset[tuple[type, object]], int] = {}
        found = []
        for component in node_view.components:
            mine: dict[int, int] = {}
            for value, mask in component.template.blocks(rule.attribute, component.own):
                if isinstance(value, tuple) and not self._lists:
                    continue
                several = value if isinstance(value, tuple) else (value,)
                key = frozenset([(type(each), each) for each in several])
                number = numbers.setdefault(key, len(numbers))
                mine[number] = mine.get(number, 0) | mask
            found.append(tuple(mine.items()))
        is_apart = len(frozenset().union(*numbers)) == sum(map(len, numbers))
        return tuple(found) if is_apart else None

    def _nearer(self, node_view: NodeView, rule: Constraint) -> tuple[LowerSwitch, ...]:
        """Return the switches below the topmost ones, where a rule compares these."""
        path = _path_beside(rule)
        if path is None:
            return ()
        found: dict[tuple[str, ...], list[int]] = {}
        for number, component in enumerate(node_view.components):
            tops = tuple(component.template.blocks(rule.attribute, component.own))
            for value, mask in component.template.blocks(path, component.own):
                switches = switch_levels(value)
                below = mask & _union(its for top, its in tops if switches and top == switches[0])
                for level in range(2, len(switches) + 1):
                    masks = found.setdefault(switches[:level], [0] * len(node_view.components))
                    masks[number] |= below
        return tuple(LowerSwitch(len(switches), tuple(masks)) for switches, masks in found.items())


def _path_beside(rule: Constraint) -> QualifiedName | None:
    """Return the attribute with all switches above a device, where a rule compares the topmost one."""
    domain, _, name = rule.attribute.rpartition("/")
    is_topmost = isinstance(rule, MatchAttribute) and name == SWITCH
    return QualifiedName(f"{domain}/{SWITCH_PATH}") if is_topmost else None


def _gap_of(node_view: NodeView) -> str | None:
    """Return why the tables do not cover a node, None where they do."""
    if node_view.is_sealed:
        return "a claim on the node holds scopes of its devices exclusively"
    if node_view.judges:
        return "devices of the node have compatibleOnlyWith expressions"
    return None


def _compiled(text: str) -> Selectors:
    """Return an expression about other devices, nothing if it does not compile: then no device meets it."""
    try:
        return (compile_selector(text),)
    except SelectorError:
        return ()


def _may_fit(coverage: Coverage, states: Sequence[int]) -> bool:
    if isinstance(coverage, Uncovered):
        return True
    try:
        return coverage.plan.fits_states(states)
    except BeyondTables:
        return True


def _compared(rule: Constraint) -> Iterator[QualifiedName]:
    """Yield the attributes that a rule compares."""
    if isinstance(rule, MatchAttribute | DistinctAttribute):
        yield rule.attribute
        return
    yield from rule.scopes
    if isinstance(rule, ExclusiveScope) and rule.kind is not None:
        yield rule.kind


def _union(masks: Iterator[int] | Sequence[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found
