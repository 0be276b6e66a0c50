"""Packs a node's devices into slices within the limits of each dialect. Pure.

The composite slices are the source of truth; the v1 slices are their exact projection. The order matters:
schedulers take the first device that fits, so devices keep the order in which they were described.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent.inventory.model import Group, NodeDevices
from agent.inventory.numbers.unlisted import with_unlisted
from agent.inventory.published import NicVf, WholeNic
from scheduler_core.base.limits import COMPOSITE_ITEMS_BELOW
from scheduler_core.books.expressed_groups import with_groups
from scheduler_core.codec import composite_encoding, v1
from scheduler_core.dialects.layout import Layout, crowded_sources
from scheduler_core.dialects.places import is_worth_keeping, places_after
from scheduler_core.dialects.project import project, spellings
from scheduler_core.model.composite import CompositeDevice, CompositeSlice, Mixin
from scheduler_core.model.device import Device, SourceName
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.pool import Pool

_MOST = COMPOSITE_ITEMS_BELOW - 1


def composite_slices(devices: NodeDevices, generation: int = 1) -> tuple[CompositeSlice, ...]:
    """Return the pool's slices in the composite dialect, at least one.

    Shape: shared mixins come first; a group stays in one slice if it fits; slice names sort in this order.
    """
    contents = list(_contents(devices)) or [Group(mixins=(), devices=())]
    return tuple(
        _slice(devices, content, generation, index, len(contents), delegates=_delegates(content))
        for index, content in enumerate(contents)
    )


@dataclass(frozen=True, slots=True)
class CompositePacked:
    """A pool in composite slices.

    Shape: ``places`` the slice of each device and mixin, of those that are gone too; ``shared`` the mixins of
           several groups that there ever were.
    """

    slices: tuple[CompositeSlice, ...]
    places: Mapping[str, int]
    shared: Mapping[str, Mixin] = field(default_factory=dict)

    @classmethod
    def of(cls, slices: Sequence[CompositeSlice], shared: Iterable[Mixin] = ()) -> CompositePacked:
        """Return slices as they are."""
        places = {key: index for index, one in enumerate(slices) for key in _keys(one)}
        return cls(tuple(slices), places, {one.name: one for one in shared})


def composite_packed(devices: NodeDevices, before: CompositePacked | None = None) -> CompositePacked:
    """Return the pool's slices: those that it had, or new ones where it does not fit in them.

    Shared mixins that nothing includes any more stay, so that a device that goes changes one slice.
    """
    fresh = CompositePacked.of(composite_slices(devices), devices.shared)
    if before is None or not is_worth_keeping(len(before.slices), len(fresh.slices)):
        return fresh
    own = {mixin.name for group in devices.groups for mixin in group.mixins}
    shared = {name: one for name, one in before.shared.items() if name not in own} | dict(fresh.shared)
    groups = [Group(mixins=tuple(shared.values()), devices=()), *devices.groups]
    places = places_after((list(_keys(group)) for group in groups), before.places, len(before.slices), _MOST)
    contents = None if places is None else _contents_at(groups, places, before.slices)
    if places is None or contents is None:
        return fresh
    slices = (
        _slice(devices, content, 1, index, len(contents), delegates=before.slices[index].nodes is None)
        for index, content in enumerate(contents)
    )
    return CompositePacked(tuple(slices), {**before.places, **places}, shared)


def v1_slices(devices: NodeDevices, layout: Layout = Layout.SEPARATE) -> tuple[dict[str, Any], ...]:
    """Return the pool's slices as ``resource.k8s.io/v1`` objects. Raises: CannotProject."""
    pool, _ = projected(devices, layout)
    return v1.encode_pool(with_unlisted(pool, devices.unlisted), layout)


def projected(devices: NodeDevices, layout: Layout) -> tuple[Pool, tuple[str, ...]]:
    """Return the pool in the v1 form, and a sentence for each NIC that this layout leaves out.

    In slices of 1.34 a NIC and its VFs share a slice with their counters, which has room for 63 VFs. The VFs
    of a larger one are published without counters, so they may lie in any slice, and the NIC itself is not,
    as where nothing is counted at all. The rest of the node keeps its counters.
    Raises: CannotProject.
    """
    pool = project(with_groups(devices.pool))
    crowded = crowded_sources(pool) if layout is Layout.TOGETHER else frozenset()
    if not crowded:
        return pool, ()
    names = spellings(devices.pool).devices
    published = {names[name]: one for name, one in devices.by_name.items() if name in names}
    drawing = {source: [one for one in pool.devices if _draws(one, source)] for source in crowded}
    freed = {
        source: sum(isinstance(published.get(one.name), NicVf) for one in theirs)
        for source, theirs in drawing.items()
        if all(isinstance(published.get(one.name), WholeNic | NicVf) for one in theirs)
    }
    kept = tuple(
        replace(one, draws=()) if any(_draws(one, source) for source in freed) else one
        for one in pool.devices
        if not (isinstance(published.get(one.name), WholeNic) and any(_draws(one, nic) for nic in freed))
    )
    sentences = (
        f"{source}: its {vfs} VFs are published without counters and the NIC itself is not, since they do "
        f"not fit in one slice of Kubernetes 1.34; the cluster administrator updates it to have both"
        for source, vfs in sorted(freed.items())
    )
    sources = {source: counters for source, counters in pool.sources.items() if source not in freed}
    return replace(pool, devices=kept, sources=sources), tuple(sentences)


def _draws(device: Device, source: SourceName) -> bool:
    return any(draw.source == source for draw in device.draws)


def encoded(slices: Sequence[CompositeSlice]) -> tuple[dict[str, Any], ...]:
    """Return composite slices as API objects."""
    return tuple(composite_encoding.encode_slice(one) for one in slices)


def flattened(devices: NodeDevices) -> tuple[dict[str, Any], ...]:
    """Return the composite pool with every mixin expanded in every device, to compare sizes.

    Shape: one object, whatever its size; it keeps the sources, so it has the same meaning.
    """
    flat = {device.name: device for device in devices.pool.devices}
    written = tuple(
        replace(
            device,
            includes=(),
            attributes=flat[device.name].attributes,
            capacity=flat[device.name].capacity,
        )
        for group in devices.groups
        for device in group.devices
    )
    content = Group(mixins=(), devices=written)
    return encoded([_slice(devices, content, 1, 0, 1, delegates=_delegates(content))])


def _contents(devices: NodeDevices) -> Iterator[Group]:
    """Fill slices with whole groups; split a group that is larger than a slice between its devices."""
    current = Group(mixins=(), devices=())
    for group in (Group(mixins=devices.shared, devices=()), *devices.groups):
        for part in _parts(group):
            joined = Group(mixins=current.mixins + part.mixins, devices=current.devices + part.devices)
            if _size(joined) > _MOST or (current.devices and _delegates(current) != _delegates(part)):
                yield current
                joined = part
            current = joined
    if _size(current):
        yield current


def _parts(group: Group) -> Iterator[Group]:
    items: list[Mixin | CompositeDevice] = [*group.mixins, *group.devices]
    for start in range(0, len(items), _MOST):
        part = items[start : start + _MOST]
        yield Group(
            mixins=tuple(item for item in part if isinstance(item, Mixin)),
            devices=tuple(item for item in part if isinstance(item, CompositeDevice)),
        )


def _size(group: Group) -> int:
    return len(group.mixins) + len(group.devices)


def _delegates(group: Group) -> bool:
    """Whether a device of the group selects its own nodes; then every device of its slice must do so."""
    return any(device.nodes is not None for device in group.devices)


def _contents_at(
    groups: Iterable[Group], places: Mapping[str, int], slices: Sequence[CompositeSlice]
) -> list[Group] | None:
    """Return the content of each slice, None where one would select nodes in another way than before."""
    mixins: list[list[Mixin]] = [[] for _ in slices]
    devices: list[list[CompositeDevice]] = [[] for _ in slices]
    for group in groups:
        delegates = _delegates(group)
        for mixin in group.mixins:
            mixins[places[_key(mixin)]].append(mixin)
        for device in group.devices:
            index = places[_key(device)]
            if delegates != (slices[index].nodes is None):
                return None
            devices[index].append(device)
    return [Group(mixins=tuple(a), devices=tuple(b)) for a, b in zip(mixins, devices, strict=True)]


def _keys(content: Group | CompositeSlice) -> Iterator[str]:
    yield from (_key(mixin) for mixin in content.mixins)
    yield from (_key(device) for device in content.devices)


def _key(item: Mixin | CompositeDevice) -> str:
    """Return the key of a place: a device may have the name of a mixin."""
    return f"mixin/{item.name}" if isinstance(item, Mixin) else str(item.name)


def _slice(
    devices: NodeDevices, content: Group, generation: int, index: int, count: int, *, delegates: bool
) -> CompositeSlice:
    pool = devices.pool.id
    nodes = OnNode(pool.name)
    placed = tuple(replace(device, nodes=device.nodes or nodes) for device in content.devices)
    return CompositeSlice(
        name=f"{pool.name}-{pool.driver}-{index:02d}",
        pool=pool,
        generation=generation,
        slice_count=count,
        nodes=None if delegates else nodes,
        mixins=content.mixins,
        devices=placed if delegates else content.devices,
    )
