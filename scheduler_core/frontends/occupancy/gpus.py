"""Makes the value of one GPU from its devices in a compiled pool and what claims hold of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.occupancy.places import place_of
from scheduler_core.frontends.occupancy.reading import (
    WHOLE,
    Board,
    Part,
    StructureFactsCache,
    label_masks,
    value_of,
)
from scheduler_core.frontends.occupancy.room import Rooms, total
from scheduler_core.frontends.occupancy.usage import PoolUsage, consumed, taints_of
from scheduler_core.frontends.occupancy.values import (
    Availability,
    DeviceUse,
    FreePlaces,
    Gpu,
    GpuRoom,
    MemorySlice,
    Mode,
    SharesLeft,
)
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.names import domain_and_identifier
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import Component

_MODES: Final = {
    WHOLE: Mode.WHOLE,
    "mig": Mode.MIG,
    "compute-instance": Mode.MIG,
    "gpu-shared": Mode.SHARED,
    "gpu-mps": Mode.MPS,
    "gpu-partition": Mode.PARTITION,
}


@dataclass(frozen=True)
class GpuReader:
    """One GPU of a pool, asked part by part."""

    board: Board
    usage: PoolUsage
    facts: StructureFactsCache
    rooms: Rooms

    def read(self) -> Gpu:
        """Return the GPU as a value."""
        uses = tuple(self._uses())
        first = self.board.parts[0]
        return Gpu(
            name=self._name,
            pool=self.usage.pool.id,
            product=str(value_of(first.component, first.mask, "productName") or ""),
            memory=self._memory,
            modes=self._modes(),
            memory_slices=tuple(self._memory_slices(uses)),
            uses=uses,
            free=self._free(),
            shares=tuple(self._shares()),
            taints=taints_of(self.board.parts),
            place=place_of(first),
            room=self._room(),
        )

    @property
    def _name(self) -> str:
        whole = next(self._of_label(WHOLE), None)
        if whole is not None:
            component, position = whole
            return component.layout.names[position]
        part = self.board.parts[0]
        structure = part.component.template.structure_class
        for position in positions(part.mask):
            for source, _, _ in structure.device_facts[position].draws:
                return str(part.component.layout.sources[source])
        return str(value_of(part.component, part.mask, "pciBusID") or self.board.key)

    @property
    def _memory(self) -> Quantity | None:
        sizes = [
            memory
            for part in self.board.parts
            for position in positions(part.mask)
            if (memory := self.facts.of(part.component).memory[position]) is not None
        ]
        return max(sizes, default=None)

    def _of_label(self, label: str) -> Iterator[tuple[Component, int]]:
        for part in self.board.parts:
            mask = label_masks(part.component, part.mask).get(label, 0)
            yield from ((part.component, position) for position in positions(mask))

    @cached_property
    def _labels(self) -> tuple[tuple[Part, Mapping[str, int]], ...]:
        return tuple((part, label_masks(part.component, part.mask)) for part in self.board.parts)

    @cached_property
    def _takers(self) -> Mapping[int, tuple[tuple[Part, int], ...]]:
        """Return the positions that take each memory slice, by number."""
        found: dict[int, list[tuple[Part, int]]] = {}
        for part in self.board.parts:
            slices = self.facts.of(part.component).memory_slices
            masks: dict[int, int] = {}
            for position in positions(part.mask):
                for index in slices[position]:
                    masks[index] = masks.get(index, 0) | 1 << position
            for index, mask in masks.items():
                found.setdefault(index, []).append((part, mask))
        return {index: tuple(found[index]) for index in sorted(found)}

    def _in_use(self) -> Iterator[tuple[Part, int]]:
        """Yield the devices in use that are of this GPU, or keep all of it from others."""
        for part in self.board.parts:
            for position in positions(self.usage.state(part.component)):
                if part.mask >> position & 1 or self._keeps_all(part, position):
                    yield part, position

    def _keeps_all(self, part: Part, position: int) -> bool:
        """Whether a device that is not of this GPU leaves nothing of it, as a partition of several does."""
        return not part.component.template.tables.free(1 << position) & part.mask

    def _taken(self, part: Part, position: int) -> tuple[int, ...]:
        """Return the memory slices that a device takes: those it names, else those that it excludes."""
        named = self.facts.of(part.component).memory_slices[position]
        if named and part.mask >> position & 1:
            return named
        free = part.component.template.tables.free(1 << position)
        return tuple(
            index
            for index, takers in self._takers.items()
            if not any(own is part and mask & free for own, mask in takers)
        )

    def _uses(self) -> Iterator[DeviceUse]:
        for part, position in sorted(
            self._in_use(), key=lambda found: found[0].component.layout.names[found[1]]
        ):
            component = part.component
            is_share = component.template.structure_class.device_facts[position].is_shareable
            taken = () if is_share else self._taken(part, position)
            for ref, result in self.usage.held[component, position]:
                yield DeviceUse(
                    device=component.layout.names[position],
                    what=self._what(component, position),
                    claim=ref,
                    request=result.request,
                    memory=self._memory_of(component, position, result.share_id is not None, ref),
                    memory_slices=taken,
                    is_share=is_share,
                )

    def _what(self, component: Component, position: int) -> str:
        return next(iter(label_masks(component, 1 << position)))

    def _memory_of(
        self, component: Component, position: int, has_share: bool, ref: ClaimRef
    ) -> Quantity | None:
        capacity = component.template.structure_class.device_facts[position].capacity
        name = next((one for one in capacity if domain_and_identifier(one)[1] == "memory"), None)
        if name is None or not has_share:
            return None if name is None else capacity[name]
        held = (one for one in self.usage.held[component, position] if one[0] == ref)
        return Quantity(sum(consumed(one, name, component).nano for _, one in held), capacity[name].family)

    def _modes(self) -> tuple[Mode, ...]:
        found: dict[Mode, None] = {}
        for part, position in self._in_use():
            kind = str(value_of(part.component, 1 << position, "type") or "")
            found[_MODES.get(kind, Mode.MIG)] = None
        return tuple(sorted(found, key=list(Mode).index)) or (Mode.FREE,)

    def _memory_slices(self, uses: tuple[DeviceUse, ...]) -> Iterator[MemorySlice]:
        sharing = tuple(dict.fromkeys(use.claim for use in uses if use.is_share))
        for index, takers in self._takers.items():
            holders = tuple(dict.fromkeys(use.claim for use in uses if index in use.memory_slices))
            if holders:
                yield MemorySlice(index, Availability.HELD, holders)
            elif any(self.usage.free(part) & mask for part, mask in takers):
                yield MemorySlice(index, Availability.FREE)
            elif sharing:
                yield MemorySlice(index, Availability.SHARED, sharing)
            else:
                yield MemorySlice(index, Availability.UNUSABLE)

    def _free(self) -> tuple[FreePlaces, ...]:
        places: dict[str, list[int]] = {}
        sizes: dict[str, tuple[int, Quantity | None]] = {}
        for part, labels in self._labels:
            component, free, offered = part.component, self.usage.free(part), self.usage.offered(part)
            structure = component.template.structure_class
            own = {label: mask & ~structure.shareable for label, mask in labels.items()}
            kinds = {label: mask for label, mask in own.items() if mask}
            fits = self.rooms.fits(
                component.template.tables,
                tuple(mask & offered for mask in kinds.values()),
                self.usage.state(component),
            )
            for (label, mask), fit in zip(kinds.items(), fits, strict=True):
                counts = places.setdefault(label, [0, 0])
                counts[0] += (mask & free).bit_count()
                counts[1] += fit
                one = next(positions(mask))
                known = self.facts.of(component)
                sizes.setdefault(label, (len(known.memory_slices[one]), known.memory[one]))
        found = [
            FreePlaces(
                what=label, places=count, fits=fit, memory_slices=sizes[label][0], memory=sizes[label][1]
            )
            for label, (count, fit) in places.items()
        ]
        return tuple(sorted(found, key=order_of))

    def _shares(self) -> Iterator[SharesLeft]:
        for part in self.board.parts:
            component = part.component
            for position in positions(component.template.structure_class.shareable & part.mask):
                is_open = (self.usage.free(part) | self.usage.state(component)) >> position & 1
                left = self.usage.left(component, position, "memory")
                yield SharesLeft(
                    device=component.layout.names[position],
                    what=self._what(component, position),
                    memory=self.facts.of(component).memory[position],
                    left=left if left is None or is_open else Quantity(0, left.family),
                )

    def _room(self) -> GpuRoom | None:
        if not self._takers:
            return None
        found = []
        for part, labels in self._labels:
            known, offered = self.facts.of(part.component), self.usage.offered(part)
            sizes = {
                mask & offered: len(known.memory_slices[next(positions(mask))])
                for mask in labels.values()
                if mask & offered
            }
            found.append(
                self.rooms.room(
                    part.component.template.tables,
                    {mask: size for mask, size in sizes.items() if size},
                    tuple(labels.values()),
                    self.usage.state(part.component),
                )
            )
        return total(found)


def order_of(one: FreePlaces) -> tuple[int, bool, str]:
    """Return the key by which free places are listed: the largest first, the whole GPU before its parts."""
    return -one.memory_slices, one.what != WHOLE, one.what
