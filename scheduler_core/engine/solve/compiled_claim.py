"""A kind of claim at work: which devices it sees where, and its plan for every site.

Nodes of one roster that show the kind the same have one plan. What they show is told by few of their own
values: those that selectors read, and which ones are equal among those that constraints compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler_core.engine.claims.claim_signature import ClaimSignature, Filter
from scheduler_core.engine.claims.node_signature import NodeSignatures, node_signatures_of
from scheduler_core.engine.claims.selector_cache import SelectorCache, open_slots
from scheduler_core.engine.solve.columns import ClaimMatches, Masks
from scheduler_core.engine.solve.plan import NodePlan
from scheduler_core.engine.solve.planner import Planner
from scheduler_core.state.node_class import NodeClass, NodeView
from scheduler_core.tables.component import Component
from scheduler_core.tables.component_template import ComponentTemplate
from scheduler_core.tables.structure_class import identity

_Values = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class MatchedPositions:
    """What a kind sees of a component, filter by filter.

    Shape: ``chosen`` would do, ``barred`` would but for a taint, on ``failed`` a selector fails.
    """

    chosen: Masks
    barred: Masks
    failed: Masks

    def within(self, usable: int) -> MatchedPositions:
        """Return what of it lies in some positions."""
        return MatchedPositions(
            *[tuple([mask & usable for mask in masks]) for masks in (self.chosen, self.barred, self.failed)]
        )


class CompiledClaim:
    """The plans of a kind, kept per site, and shared by sites that look the same to the kind.

    Shape: ``lists`` tells whether constraints compare lists by their members; else they are no values.
    """

    def __init__(
        self, signature: ClaimSignature, planner: Planner, selector_cache: SelectorCache, *, lists: bool
    ) -> None:
        self.signature = signature
        self._lists = lists
        self._planner = planner
        self._selector_cache = selector_cache
        self._plans: dict[NodeView, NodePlan] = {}
        self._signatures_by_class: dict[NodeClass, NodeSignatures] = {}
        self._by_signature: dict[tuple[object, ...], NodePlan] = {}
        self._shared: dict[tuple[NodeClass, ClaimMatches], NodePlan] = {}
        self._slots: dict[ComponentTemplate, tuple[int, ...]] = {}
        self._matched_by_values: dict[tuple[ComponentTemplate, tuple[object, ...]], MatchedPositions] = {}

    def plan(self, node_view: NodeView) -> NodePlan:
        """Return the plan for a site."""
        found = self._plans.get(node_view)
        if found is None:
            found = self._plans[node_view] = self._planned(node_view)
        return found

    def forget(self, node_view: NodeView) -> None:
        """Forget a site that is no more."""
        self._plans.pop(node_view, None)

    def _planned(self, node_view: NodeView) -> NodePlan:
        if not (self.signature.is_regular and node_view.is_regular):
            return NodePlan(None)
        signature = self._signatures(node_view).of(node_view.components)
        if signature is None:
            return self._made(node_view)
        key = (node_view.node_class, signature)
        found = self._by_signature.get(key)
        if found is None:
            found = self._by_signature[key] = self._made(node_view)
        return found

    def _signatures(self, node_view: NodeView) -> NodeSignatures:
        signatures = self._signatures_by_class.get(node_view.node_class)
        if signatures is None:
            slots = [self._slots_of(one.template) for one in node_view.components]
            attributes = {rule.attribute for rule in self.signature.rules}
            signatures = self._signatures_by_class[node_view.node_class] = node_signatures_of(
                node_view.components, slots, attributes
            )
        return signatures

    def _made(self, node_view: NodeView) -> NodePlan:
        matches = self._matches_on(node_view)
        if matches is None:
            return NodePlan(None)
        key = (node_view.node_class, matches)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self._planner.plan(self.signature, node_view.node_class, matches)
        return found

    def matched(self, node_view: NodeView) -> tuple[MatchedPositions, ...]:
        """Return what the kind sees of each component, restricted to what the node may use."""
        pairs = zip(node_view.components, node_view.node_class.usable, strict=True)
        return tuple([self._matched_in(component).within(usable) for component, usable in pairs])

    def meets_shareable(self, node_view: NodeView, matched: Sequence[MatchedPositions]) -> bool:
        """Whether some filter looks at a component with devices that serve many claims."""
        pairs = zip(node_view.node_class.templates, matched, strict=True)
        return any(
            template.structure_class.is_shared and any((*found_in.chosen, *found_in.barred, *found_in.failed))
            for template, found_in in pairs
        )

    def _matches_on(self, node_view: NodeView) -> ClaimMatches | None:
        """Return what the kind sees, None where a selector fails or lists overlap."""
        matched = self.matched(node_view)
        if any(any(found_in.failed) for found_in in matched) or self.meets_shareable(node_view, matched):
            return None
        values = tuple(self._values(node_view, number) for number in range(len(self.signature.rules)))
        if any(one is None for one in values):
            return None
        return ClaimMatches(
            tuple(found_in.chosen for found_in in matched), tuple(one for one in values if one is not None)
        )

    def _matched_in(self, component: Component) -> MatchedPositions:
        template = component.template
        key = (template, tuple([identity(component.own[slot]) for slot in self._slots_of(template)]))
        found = self._matched_by_values.get(key)
        if found is None:
            found = self._matched_by_values[key] = self._newly_matched(component)
        return found

    def _newly_matched(self, component: Component) -> MatchedPositions:
        answers = [self._masks(one, component) for one in self.signature.filters]
        chosen, barred, failed = zip(*answers, strict=True) if answers else ((), (), ())
        return MatchedPositions(chosen, barred, failed)

    def _masks(self, wanted: Filter, component: Component) -> tuple[int, int, int]:
        structure_class = component.template.structure_class
        chosen, failed = self._selector_cache.masks(wanted.selectors, component)
        if wanted.capacity:
            chosen &= structure_class.with_capacity(wanted.capacity)
        barred = chosen & structure_class.barred(wanted.tolerations) if wanted.tolerations is not None else 0
        return chosen & ~barred, barred, failed

    def _slots_of(self, template: ComponentTemplate) -> tuple[int, ...]:
        slots = self._slots.get(template)
        if slots is None:
            read = {slot for one in self.signature.filters for slot in open_slots(one.selectors, template)}
            slots = self._slots[template] = tuple(sorted(read))
        return slots

    def _values(self, node_view: NodeView, rule: int) -> _Values | None:
        """Return the values that a rule compares, numbered as they are met.

        A list counts as one value where lists are either equal or have nothing in common; None where not.
        """
        attribute = self.signature.rules[rule].attribute
        numbers: dict[frozenset[tuple[type, object]], int] = {}
        found = []
        for component in node_view.components:
            mine: dict[int, int] = {}
            for value, mask in component.template.blocks(attribute, component.own):
                if isinstance(value, tuple) and not self._lists:
                    continue
                several = value if isinstance(value, tuple) else (value,)
                key = frozenset([(type(each), each) for each in several])
                number = numbers.setdefault(key, len(numbers))
                mine[number] = mine.get(number, 0) | mask
            found.append(tuple(mine.items()))
        is_apart = len(frozenset().union(*numbers)) == sum(map(len, numbers))
        return tuple(found) if is_apart else None
