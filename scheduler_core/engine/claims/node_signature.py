"""Gazes: which of a node's own values a kind of claim looks at.

On nodes of one roster all else is equal. So a few values tell whether two nodes look the same to a kind,
and nothing else of their components need be touched.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from scheduler_core.model.device import QualifiedName
from scheduler_core.tables.component import Component
from scheduler_core.tables.structure_class import Entry, identity

_Slot = tuple[int, int]
"""The number of a component, and of a value among its own."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeSignatures:
    """The values of one roster that a kind looks at.

    Shape: ``read`` by selectors; ``compared`` by constraints, of which ``spread`` are one per device;
           ``constants`` are the texts that constraints find in all nodes of the roster, numbered.
    """

    read: tuple[_Slot, ...]
    compared: tuple[_Slot, ...]
    spread: tuple[_Slot, ...]
    constants: dict[str, int]

    def shown(self, components: Sequence[Component]) -> tuple[object, ...] | None:
        """Return what the node shows, equal for nodes that look the same; None where that is not plain."""
        told = [identity(components[number].own[slot]) for number, slot in self.read]
        values: list[Entry] = [components[number].own[slot] for number, slot in self.compared]
        for number, slot in self.spread:
            entry = components[number].own[slot]
            assert isinstance(entry, tuple), "values that differ within a component are one per device"
            values += entry
        numbers = self.constants.copy()
        pattern = []
        for value in values:
            if type(value) is not str:
                return None
            pattern.append(numbers.setdefault(value, len(numbers)))
        return (*told, *pattern)


def node_signatures_of(
    components: Sequence[Component], read: Sequence[Sequence[int]], attributes: Collection[QualifiedName]
) -> NodeSignatures:
    """Return the gaze of a kind that compares ``attributes`` and whose selectors read the slots ``read``."""
    compared: list[_Slot] = []
    spread: list[_Slot] = []
    constants: dict[str, int] = {}
    for number, component in enumerate(components):
        template = component.template
        for place in [place for key in attributes for place in template.structure_class.places(key)]:
            slot = template.slots.get(place.entry)
            if slot is not None:
                (spread if place.is_spread else compared).append((number, slot))
                continue
            entry = template.entry(place.entry, component.own)
            for value in entry if isinstance(entry, tuple) else (entry,):
                if isinstance(value, str):
                    constants.setdefault(value, len(constants))
    slots = tuple((number, slot) for number, mine in enumerate(read) for slot in mine)
    return NodeSignatures(slots, tuple(compared), tuple(spread), constants)
