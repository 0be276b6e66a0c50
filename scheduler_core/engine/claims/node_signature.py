"""Node signatures: the few values by which the nodes of one node class differ for a claim signature.

Nodes of one node class have equal components, listed alike; only the components' own values differ, such as
serial numbers. A plan depends on two things only: what selectors read of these values, and which values
that constraints compare are equal. Both are in a node's signature. Nodes with equal signatures share a
plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import QualifiedName
from scheduler_core.tables.component import Component
from scheduler_core.tables.entries import Entry, identity

_Slot = tuple[int, int]
"""The number of a component, and the index of a value among its own entries."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeSignatures:
    """Where the values are that make up the signature of a node, for one claim signature and node class.

    Shape: ``read`` are the values that selectors read; ``compared`` and ``per_device`` those that
           constraints compare, with one value per component or one per device; ``constants`` are the
           strings that constraints compare and all nodes of the class have, numbered.
    """

    read: tuple[_Slot, ...]
    compared: tuple[_Slot, ...]
    per_device: tuple[_Slot, ...]
    constants: dict[str, int]

    def of(self, components: Sequence[Component]) -> tuple[object, ...] | None:
        """Return the signature of a node, None where a compared value is no string."""
        read_values = [identity(components[number].own[slot]) for number, slot in self.read]
        values: list[Entry] = [components[number].own[slot] for number, slot in self.compared]
        for number, slot in self.per_device:
            entry = components[number].own[slot]
            assert isinstance(entry, tuple), "values that differ within a component are one per device"
            values += entry
        numbers = self.constants.copy()
        pattern = []
        for value in values:
            if type(value) is not str:
                return None
            pattern.append(numbers.setdefault(value, len(numbers)))
        return (*read_values, *pattern)


def node_signatures_of(
    components: Sequence[Component], read: Sequence[Sequence[int]], attributes: Collection[QualifiedName]
) -> NodeSignatures:
    """Return where the values are. Shape: ``read`` has, per component, those that selectors read."""
    compared: list[_Slot] = []
    per_device: list[_Slot] = []
    constants: dict[str, int] = {}
    for number, component in enumerate(components):
        template = component.template
        for location in [
            location for key in attributes for location in template.structure_class.locations(key)
        ]:
            slot = template.slots.get(location.entry)
            if slot is not None:
                (per_device if location.is_per_device else compared).append((number, slot))
                continue
            entry = template.entry(location.entry, component.own)
            for text in _texts(entry):
                constants.setdefault(text, len(constants))
    slots = tuple((number, slot) for number, mine in enumerate(read) for slot in mine)
    return NodeSignatures(slots, tuple(compared), tuple(per_device), constants)


def _texts(entry: Entry) -> Iterator[str]:
    """Yield the strings of an entry: of one value or one per device, each of which may be a list."""
    if isinstance(entry, tuple):
        for value in entry:
            yield from _texts(value)
    elif isinstance(entry, str):
        yield entry
