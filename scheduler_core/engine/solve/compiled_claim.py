"""A kind of claim at work: which devices it sees where, and its plan for every site.

Nodes of one roster that show the kind the same have one plan. What they show is told by few of their own
values: those that selectors read, and which ones are equal among those that constraints compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler_core.engine.claims.claim_signature import Filter, Kind
from scheduler_core.engine.claims.node_signature import Gaze, gaze_of
from scheduler_core.engine.claims.selector_cache import Verdicts, open_slots
from scheduler_core.engine.cluster.node_class import Roster, Site
from scheduler_core.engine.solve.columns import Masks, Sight
from scheduler_core.engine.solve.plan import Plan
from scheduler_core.engine.solve.planner import Planner
from scheduler_core.engine.tables.component import Component
from scheduler_core.engine.tables.component_template import Template
from scheduler_core.engine.tables.structure_class import identity

_Values = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What a kind sees of a component, filter by filter.

    Shape: ``chosen`` would do, ``barred`` would but for a taint, on ``failed`` a selector fails.
    """

    chosen: Masks
    barred: Masks
    failed: Masks

    def within(self, usable: int) -> Look:
        """Return what of it lies in some positions."""
        return Look(
            *[tuple([mask & usable for mask in masks]) for masks in (self.chosen, self.barred, self.failed)]
        )


class Scout:
    """The plans of a kind, kept per site, and shared by sites that look the same to the kind.

    Shape: ``lists`` tells whether constraints compare lists by their members; else they are no values.
    """

    def __init__(self, kind: Kind, planner: Planner, verdicts: Verdicts, *, lists: bool) -> None:
        self.kind = kind
        self._lists = lists
        self._planner = planner
        self._verdicts = verdicts
        self._plans: dict[Site, Plan] = {}
        self._gazes: dict[Roster, Gaze] = {}
        self._shown: dict[tuple[object, ...], Plan] = {}
        self._shared: dict[tuple[Roster, Sight], Plan] = {}
        self._slots: dict[Template, tuple[int, ...]] = {}
        self._looks: dict[tuple[Template, tuple[object, ...]], Look] = {}

    def plan(self, site: Site) -> Plan:
        """Return the plan for a site."""
        found = self._plans.get(site)
        if found is None:
            found = self._plans[site] = self._planned(site)
        return found

    def forget(self, site: Site) -> None:
        """Forget a site that is no more."""
        self._plans.pop(site, None)

    def _planned(self, site: Site) -> Plan:
        if not (self.kind.is_regular and site.is_regular):
            return Plan(None)
        shown = self._gaze(site).shown(site.components)
        if shown is None:
            return self._made(site)
        key = (site.roster, shown)
        found = self._shown.get(key)
        if found is None:
            found = self._shown[key] = self._made(site)
        return found

    def _gaze(self, site: Site) -> Gaze:
        gaze = self._gazes.get(site.roster)
        if gaze is None:
            slots = [self._slots_of(one.template) for one in site.components]
            attributes = {rule.attribute for rule in self.kind.rules}
            gaze = self._gazes[site.roster] = gaze_of(site.components, slots, attributes)
        return gaze

    def _made(self, site: Site) -> Plan:
        sight = self._sight(site)
        if sight is None:
            return Plan(None)
        key = (site.roster, sight)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self._planner.plan(self.kind, site.roster, sight)
        return found

    def looks(self, site: Site) -> tuple[Look, ...]:
        """Return what the kind sees of each component, restricted to what the node may use."""
        pairs = zip(site.components, site.roster.usable, strict=True)
        return tuple([self._look(component).within(usable) for component, usable in pairs])

    def meets_shared(self, site: Site, looks: Sequence[Look]) -> bool:
        """Whether some filter looks at a component with devices that serve many claims."""
        pairs = zip(site.roster.templates, looks, strict=True)
        return any(
            template.skeleton.is_shared and any((*look.chosen, *look.barred, *look.failed))
            for template, look in pairs
        )

    def _sight(self, site: Site) -> Sight | None:
        """Return what the kind sees, None where a selector fails or lists overlap."""
        looks = self.looks(site)
        if any(any(look.failed) for look in looks) or self.meets_shared(site, looks):
            return None
        values = tuple(self._values(site, number) for number in range(len(self.kind.rules)))
        if any(one is None for one in values):
            return None
        return Sight(tuple(look.chosen for look in looks), tuple(one for one in values if one is not None))

    def _look(self, component: Component) -> Look:
        template = component.template
        key = (template, tuple([identity(component.own[slot]) for slot in self._slots_of(template)]))
        found = self._looks.get(key)
        if found is None:
            found = self._looks[key] = self._looked(component)
        return found

    def _looked(self, component: Component) -> Look:
        answers = [self._masks(one, component) for one in self.kind.filters]
        chosen, barred, failed = zip(*answers, strict=True) if answers else ((), (), ())
        return Look(chosen, barred, failed)

    def _masks(self, wanted: Filter, component: Component) -> tuple[int, int, int]:
        skeleton = component.template.skeleton
        chosen, failed = self._verdicts.masks(wanted.selectors, component)
        if wanted.capacity:
            chosen &= skeleton.large(wanted.capacity)
        barred = chosen & skeleton.barred(wanted.tolerations) if wanted.tolerations is not None else 0
        return chosen & ~barred, barred, failed

    def _slots_of(self, template: Template) -> tuple[int, ...]:
        slots = self._slots.get(template)
        if slots is None:
            read = {slot for one in self.kind.filters for slot in open_slots(one.selectors, template)}
            slots = self._slots[template] = tuple(sorted(read))
        return slots

    def _values(self, site: Site, rule: int) -> _Values | None:
        """Return the values that a rule compares, numbered as they are met.

        A list counts as one value where lists are either equal or have nothing in common; None where not.
        """
        attribute = self.kind.rules[rule].attribute
        numbers: dict[frozenset[tuple[type, object]], int] = {}
        found = []
        for component in site.components:
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
