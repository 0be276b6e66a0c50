"""A kind of claim at work: which devices it sees where, and its plan for every site."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_core.engine.columns import Masks, Sight
from scheduler_core.engine.component import Component
from scheduler_core.engine.kind import Kind
from scheduler_core.engine.plan import Plan
from scheduler_core.engine.planner import Planner
from scheduler_core.engine.roster import Roster, Site
from scheduler_core.engine.skeleton import identity
from scheduler_core.engine.template import Template
from scheduler_core.engine.verdicts import Verdicts, open_slots
from scheduler_core.model.device import AttributeValue

_Values = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What each set of selectors chooses of a component, and where one fails."""

    chosen: Masks
    failed: Masks

    def within(self, usable: int) -> Look:
        """Return what of it lies in some positions."""
        return Look(
            tuple([mask & usable for mask in self.chosen]), tuple([mask & usable for mask in self.failed])
        )


class Scout:
    """The plans of a kind, kept per site, and shared by sites that look the same to the kind."""

    def __init__(self, kind: Kind, planner: Planner, verdicts: Verdicts) -> None:
        self.kind = kind
        self._planner = planner
        self._verdicts = verdicts
        self._plans: dict[Site, Plan] = {}
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
        sight = self._sight(site) if self.kind.is_regular and site.is_regular else None
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

    def _sight(self, site: Site) -> Sight | None:
        """Return what the kind sees, None where a selector fails or a constraint meets a list."""
        looks = self.looks(site)
        if any(any(look.failed) for look in looks):
            return None
        values = tuple(self._values(site, number) for number in range(len(self.kind.rules)))
        if any(one is None for one in values):
            return None
        return Sight(tuple(look.chosen for look in looks), tuple(one for one in values if one is not None))

    def _look(self, component: Component) -> Look:
        template = component.template
        slots = self._slots.get(template)
        if slots is None:
            slots = self._slots[template] = self._read_slots(template)
        key = (template, tuple([identity(component.own[slot]) for slot in slots]))
        found = self._looks.get(key)
        if found is None:
            answers = [self._verdicts.masks(selectors, component) for selectors in self.kind.selectors]
            found = Look(tuple(chosen for chosen, _ in answers), tuple(failed for _, failed in answers))
            self._looks[key] = found
        return found

    def _read_slots(self, template: Template) -> tuple[int, ...]:
        read = {slot for selectors in self.kind.selectors for slot in open_slots(selectors, template)}
        return tuple(sorted(read))

    def _values(self, site: Site, rule: int) -> _Values | None:
        """Return the values that a rule compares, numbered as they are met; None where one is a list."""
        attribute = self.kind.rules[rule].attribute
        numbers: dict[tuple[type, AttributeValue], int] = {}
        found = []
        for component in site.components:
            mine: dict[int, int] = {}
            for value, mask in component.template.blocks(attribute, component.own):
                if isinstance(value, tuple):
                    return None
                number = numbers.setdefault((type(value), value), len(numbers))
                mine[number] = mine.get(number, 0) | mask
            found.append(tuple(mine.items()))
        return tuple(found)
