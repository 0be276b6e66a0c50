"""Makes the values of NICs, and of devices that belong to no GPU or NIC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler_core.frontends.occupancy.places import place_of
from scheduler_core.frontends.occupancy.reading import Board, Part, label_masks, masks_of, value_of
from scheduler_core.frontends.occupancy.usage import PoolUsage, holders, taints_of
from scheduler_core.frontends.occupancy.values import Availability, DeviceUse, Nic, NicFunction, OtherDevices
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.tables.bits import positions
from scheduler_core.tables.component import Component


def nic_of(board: Board, usage: PoolUsage) -> Nic:
    """Return a NIC with its VFs."""
    first = board.parts[0]
    whole = [one for one in _functions(board.parts, usage, "nic")]
    return Nic(
        name=whole[0].name if whole else _source_of(first) or board.key,
        pool=usage.pool.id,
        link_type=str(value_of(first.component, first.mask, "linkType") or ""),
        whole=whole[0] if whole else None,
        vfs=tuple(_functions(board.parts, usage, "vf")),
        uses=tuple(_uses(board.parts, usage)),
        taints=taints_of(board.parts),
        place=place_of(first),
    )


def others_of(parts: Iterable[Part], usage: PoolUsage) -> Iterator[OtherDevices]:
    """Yield the other devices, by kind in order of appearance."""
    by_label: dict[str, list[Part]] = {}
    for part in parts:
        for label, mask in label_masks(part.component, part.mask).items():
            by_label.setdefault(label, []).append(Part(part.component, mask))
    for label, mine in by_label.items():
        yield OtherDevices(
            what=label,
            pool=usage.pool.id,
            count=sum(part.mask.bit_count() for part in mine),
            free=sum(usage.free(part).bit_count() for part in mine),
            uses=tuple(_uses(mine, usage)),
            usable_from=tuple(dict.fromkeys(one for part in mine for one in _nodes_of(part))),
        )


def _nodes_of(part: Part) -> Iterator[NodeSelection]:
    nodes = part.component.nodes
    if isinstance(nodes, tuple):
        yield from (nodes[position] for position in positions(part.mask))
    else:
        yield nodes


def _functions(parts: Iterable[Part], usage: PoolUsage, kind: str) -> Iterator[NicFunction]:
    for part in parts:
        free = usage.free(part)
        for position in positions(masks_of(part.component, "type").get(kind, 0) & part.mask):
            held = holders(usage.held, (part.component, position))
            state = (
                Availability.HELD
                if held
                else Availability.FREE
                if free >> position & 1
                else Availability.UNUSABLE
            )
            yield NicFunction(name=part.component.layout.names[position], state=state, holders=held)


def _source_of(part: Part) -> str | None:
    sources = part.component.layout.sources
    return str(sources[0]) if sources else None


def _uses(parts: Iterable[Part], usage: PoolUsage) -> Iterator[DeviceUse]:
    for part in parts:
        for position in positions(usage.state(part.component) & part.mask):
            yield from uses_of(part.component, position, usage)


def uses_of(component: Component, position: int, usage: PoolUsage) -> Iterator[DeviceUse]:
    """Yield what claims have of a device without memory slices."""
    for ref, result in usage.held[component, position]:
        yield DeviceUse(
            device=component.layout.names[position],
            what=next(iter(label_masks(component, 1 << position))),
            claim=ref,
            request=result.request,
            is_share=component.template.structure_class.device_facts[position].is_shareable,
        )
