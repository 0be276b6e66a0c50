"""Reads a compiled pool: which devices form one GPU or one NIC, and which memory slices they take.

A name is a key and is never parsed. The devices of a GPU are known by its UUID, without one by the source
from which they draw; those of a NIC by the address of its PF.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.names import counter_spelling, domain_and_identifier
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import CompiledPool, Component
from scheduler_core.tables.structure_class import StructureClass

WHOLE: Final = "gpu"
_GPUS: Final = frozenset((WHOLE, "gpu-shared", "gpu-mps", "mig", "compute-instance"))
_NIC: Final = "nic"
_FUNCTIONS: Final = frozenset((_NIC, "vf"))
_MEMORY_SLICE: Final = re.compile(r"memory-slice-([0-9]{1,3})")


@dataclass(frozen=True, slots=True)
class Part:
    """The devices of one GPU or NIC in one component of a pool. Shape: ``mask`` are their positions."""

    component: Component
    mask: int


@dataclass(slots=True)
class Board:
    """One GPU or NIC. Shape: ``parts`` in pool order, several only where nothing counts their amounts."""

    key: str
    parts: list[Part] = field(default_factory=list)


@dataclass(slots=True)
class Boards:
    """What a pool consists of. Shape: each in pool order; ``others`` are the rest, by component."""

    gpus: dict[str, Board] = field(default_factory=dict)
    nics: dict[str, Board] = field(default_factory=dict)
    others: list[Part] = field(default_factory=list)


def read_boards(pool: CompiledPool, facts: StructureFactsCache) -> Boards:
    """Return the GPUs, the NICs and the other devices of a pool."""
    found = Boards()
    for component in pool.components:
        kinds = masks_of(component, "type")
        taking = facts.of(component).taking
        known = _union(kinds, frozenset(map(str, kinds)))
        gpus = _union(kinds, _GPUS) | (taking & ~known)
        functions = _union(kinds, _FUNCTIONS)
        for key, mask in _keyed(component, gpus, ("uuid", "parentUUID")).items():
            found.gpus.setdefault(key, Board(key)).parts.append(Part(component, mask))
        for key, mask in _keyed(component, functions, ("pfPciAddress",)).items():
            found.nics.setdefault(key, Board(key)).parts.append(Part(component, mask))
        rest = component.template.tables.everything & ~(gpus | functions)
        if rest:
            found.others.append(Part(component, rest))
    return found


def masks_of(component: Component, identifier: str) -> dict[AttributeValue, int]:
    """Return the positions by the value of an attribute, in whichever domain the driver has it."""
    found: dict[AttributeValue, int] = {}
    for key in _spellings(component.template.structure_class.keys, identifier):
        for value, mask in component.template.blocks(key, component.own):
            found[value] = found.get(value, 0) | mask
    return found


@lru_cache(maxsize=1024)
def _spellings(keys: Collection[QualifiedName], identifier: str) -> tuple[QualifiedName, ...]:
    """Return the keys of an identifier, in whichever domain. Equal components ask with equal keys."""
    return tuple(key for key in keys if domain_and_identifier(key)[1] == identifier)


def value_of(component: Component, mask: int, identifier: str) -> AttributeValue | None:
    """Return the value that the first of these positions with the attribute has."""
    found = {value: own & mask for value, own in masks_of(component, identifier).items() if own & mask}
    return min(found, key=lambda value: found[value] & -found[value]) if found else None


def label_masks(component: Component, mask: int) -> dict[str, int]:
    """Return positions by what they are: the profile, else the kind of device."""
    found: dict[str, int] = {}
    rest = mask
    for identifier in ("profile", "type"):
        for value, own in masks_of(component, identifier).items():
            if own & rest:
                found[str(value)] = found.get(str(value), 0) | (own & rest)
        for own in found.values():
            rest &= ~own
    if rest:
        found["device"] = rest
    return found


def _union(kinds: Mapping[AttributeValue, int], names: frozenset[str]) -> int:
    mask = 0
    for name, own in kinds.items():
        if name in names:
            mask |= own
    return mask


def _keyed(component: Component, mask: int, identifiers: tuple[str, ...]) -> dict[str, int]:
    """Return positions by the first of these attributes that they have, the rest by their source."""
    found: dict[str, int] = {}
    rest = mask
    for identifier in identifiers:
        for value, own in masks_of(component, identifier).items():
            if own & rest:
                found[str(value)] = found.get(str(value), 0) | (own & rest)
        for own in found.values():
            rest &= ~own
    if rest:
        known = {source: key for key, own in found.items() for source in _sources(component, own)}
        for position in positions(rest):
            sources = _sources(component, 1 << position)
            name = component.layout.sources[sources[0]] if sources else component.layout.names[position]
            key = next((known[one] for one in sources if one in known), str(name))
            found[key] = found.get(key, 0) | 1 << position
    return found


def _sources(component: Component, mask: int) -> tuple[int, ...]:
    """Return the numbers of the sources that devices are, draw from, or are cut from."""
    names, sources = component.layout.names, component.layout.sources
    numbers = {name: number for number, name in enumerate(sources)}
    found: dict[int, None] = {}
    for position in positions(mask):
        facts = component.template.structure_class.device_facts[position]
        lineage = [str(names[position]), *(str(names[parent]) for parent in facts.parents)]
        found |= {number: None for name, number in numbers.items() if str(name) in lineage}
        found |= {source: None for source, _, _ in facts.draws}
    return tuple(found)


@dataclass(frozen=True, slots=True)
class StructureFacts:
    """What devices of equal components take.

    Shape: an entry per position; ``memory_slices`` ascending, empty for devices that take none or whose
           slices follow from what they exclude; ``taking`` are the positions with memory slices.
    """

    memory_slices: tuple[tuple[int, ...], ...]
    memory: tuple[Quantity | None, ...]
    taking: int


class StructureFactsCache:
    """Keeps the facts of each structure class."""

    def __init__(self) -> None:
        self._known: dict[StructureClass, StructureFacts] = {}

    def of(self, component: Component) -> StructureFacts:
        """Return what does not change of a component; it is read once for each structure."""
        structure = component.template.structure_class
        found = self._known.get(structure)
        if found is None:
            found = self._known[structure] = _facts(structure)
        return found


def _facts(structure: StructureClass) -> StructureFacts:
    memory_slices = tuple(
        _numbers(facts.capacity)
        or tuple(
            sorted({one for _, amounts, _ in facts.draws for one in _numbers(structure.amounts[amounts])})
        )
        for facts in structure.device_facts
    )
    memory = tuple(_memory(facts.capacity) for facts in structure.device_facts)
    taking = sum(1 << position for position, numbers in enumerate(memory_slices) if numbers)
    return StructureFacts(memory_slices, memory, taking)


def _numbers(amounts: Mapping[str, Quantity] | Mapping[QualifiedName, Quantity]) -> tuple[int, ...]:
    return tuple(sorted(_memory_slices(amounts)))


def _memory_slices(amounts: Mapping[str, Quantity] | Mapping[QualifiedName, Quantity]) -> Iterator[int]:
    for name, amount in amounts.items():
        match = _MEMORY_SLICE.fullmatch(counter_spelling(domain_and_identifier(name)[1]))
        if match and amount.nano:
            yield int(match[1])


def _memory(capacity: Mapping[QualifiedName, Quantity]) -> Quantity | None:
    return next(
        (value for name, value in capacity.items() if domain_and_identifier(name)[1] == "memory"), None
    )
