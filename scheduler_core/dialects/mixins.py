"""Flattens composite devices: applies mixins, then finds the source of each dimension.

Mixins are applied in the order of ``includes``, key by key: a later one overrides an earlier one, and the
device's own keys override all. The last listed source that has a dimension supplies it, even with zero. A
positive dimension that no source has, an unknown mixin or source, and a cycle of sources make that device
unusable, but no other one. Rules S1 to S6 of docs/semantics.md; source: KEP-4815.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeVar

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.dialects.supply import Flat, Unusable, as_dimensions, find_draws, parents, reject_chains
from scheduler_core.model.composite import CompositeDevice, CompositeSlice, Mixin
from scheduler_core.model.device import AttributeValue, Device, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.nodes import AllNodes, NodeSelection, SliceSelection, of_devices
from scheduler_core.model.policy import RequestPolicy
from scheduler_core.model.pool import PartitionableSlices, Pool, PoolId, Rejected

_Value = TypeVar("_Value", AttributeValue, Quantity)


@dataclass(slots=True)
class _Parts:
    """The entries of a pool by name. Shape: ``problem`` is what makes the whole pool unusable."""

    mixins: dict[str, Mixin] = field(default_factory=dict)
    broken_mixins: dict[str, str] = field(default_factory=dict)
    devices: dict[DeviceName, CompositeDevice] = field(default_factory=dict)
    nodes: dict[DeviceName, NodeSelection] = field(default_factory=dict)
    broken: dict[DeviceName, str] = field(default_factory=dict)
    order: list[DeviceName] = field(default_factory=list)
    problem: str | None = None


def flatten(slices: Collection[CompositeSlice]) -> Pool:
    """Return the pool of slices that have the same driver and pool name.

    Shape: at least one slice; the answer is the newest generation, with the older ones in ``older``. Slices
           are read in the order of their names, so the order of devices does not depend on their arrival.
    """
    older: Pool | None = None
    for generation in sorted({composite.generation for composite in slices}):
        older = _generation([one for one in slices if one.generation == generation], older)
    assert older is not None, "a pool has at least one slice"
    return older


def _generation(slices: Sequence[CompositeSlice], older: Pool | None) -> Pool:
    current = sorted(slices, key=lambda composite: composite.name)
    parts = _collect(current)
    pool = Pool(
        id=current[0].pool,
        generation=current[0].generation,
        problem=parts.problem,
        is_complete=len(current) == current[0].slice_count,
        seen_from=tuple(dict.fromkeys(map(_seen_from, current))),
        older=older,
        partitionable=_partitionable(current),
    )
    return pool if parts.problem else _resolve(pool, parts)


def _seen_from(one: CompositeSlice) -> SliceSelection:
    """Return from which nodes the slice has a device; one that cannot be read may be anywhere."""
    if one.nodes is not None:
        return one.nodes
    everywhere = AllNodes()
    return of_devices(
        [*(each.nodes or everywhere for each in one.devices), *(everywhere for _ in one.broken_devices)]
    )


def _partitionable(slices: Sequence[CompositeSlice]) -> PartitionableSlices | None:
    """Return the devices of slices in which each device selects nodes itself."""
    ignored = [one for one in slices if one.nodes is None]
    if not ignored:
        return None
    others = dict.fromkeys(one.nodes for one in slices if one.nodes is not None)
    names = [
        name for one in ignored for name in (*(device.name for device in one.devices), *one.broken_devices)
    ]
    return PartitionableSlices(tuple(names), tuple(others))


def pools(slices: Iterable[CompositeSlice]) -> tuple[Pool, ...]:
    """Return every pool of the slices, by driver and name."""
    by_id: dict[PoolId, list[CompositeSlice]] = {}
    for composite in slices:
        by_id.setdefault(composite.pool, []).append(composite)
    return tuple(flatten(by_id[pool]) for pool in sorted(by_id))


def _collect(slices: Sequence[CompositeSlice]) -> _Parts:
    parts, everywhere = _Parts(), AllNodes()
    for composite in slices:
        parts.problem = parts.problem or composite.problem
        for mixin in composite.mixins:
            parts.problem = parts.problem or _repeated("mixin", mixin.name, parts.mixins)
            parts.mixins[mixin.name] = mixin
        for device in composite.devices:
            parts.problem = parts.problem or _repeated("device", device.name, parts.devices)
            parts.devices[device.name] = device
            parts.nodes[device.name] = device.nodes or composite.nodes or everywhere
            parts.order.append(device.name)
        parts.broken_mixins |= composite.broken_mixins
        parts.broken |= composite.broken_devices
    return parts


def _repeated(what: str, name: str, known: Mapping[str, object] | Mapping[DeviceName, object]) -> str | None:
    return f"{what} {name} is listed twice: names must be unique in a pool" if name in known else None


def _resolve(pool: Pool, parts: _Parts) -> Pool:
    rejected = dict(parts.broken)
    flats: dict[DeviceName, Flat] = {}
    merger = _Merger(parts)
    for name in parts.order:
        try:
            flats[name] = merger.apply(parts.devices[name])
        except Unusable as error:
            rejected[name] = str(error)
    draws = find_draws(flats, rejected, pool.id.driver)
    reject_chains(flats, rejected)
    devices = tuple(
        _device(flats[name], draws[name], parts.nodes[name]) for name in parts.order if name not in rejected
    )
    ordered = {
        name: Rejected(rejected[name], _readable(name, flats, parts))
        for name in (*parts.order, *parts.broken)
        if name in rejected
    }
    return replace(pool, devices=devices, sources=_sources(devices, flats), rejected=ordered)


class _Merger:
    """Applies mixins. Devices with the same mixins share one mapping, so that a reader of thousands of
    devices processes each mapping once."""

    def __init__(self, parts: _Parts) -> None:
        self._parts = parts
        self._attributes: dict[tuple[str, ...], Mapping[QualifiedName, AttributeValue]] = {}
        self._capacity: dict[tuple[str, ...], Mapping[QualifiedName, Quantity]] = {}

    def apply(self, device: CompositeDevice) -> Flat:
        """Return the device with its mixins. Raises: Unusable."""
        mixins = self._parts.mixins
        try:
            included = [mixins[name] for name in device.includes]
        except KeyError as error:
            name = error.args[0]
            raise Unusable(self._parts.broken_mixins.get(name, f"includes unknown mixin {name!r}")) from None
        with_attributes = tuple([mixin.name for mixin in included if mixin.attributes])
        with_capacity = tuple([mixin.name for mixin in included if mixin.capacity])
        attributes = self._attributes.get(with_attributes)
        if attributes is None:
            attributes = self._attributes[with_attributes] = _merged(
                [mixins[name].attributes for name in with_attributes]
            )
        capacity = self._capacity.get(with_capacity)
        if capacity is None:
            capacity = self._capacity[with_capacity] = _merged(
                [mixins[name].capacity for name in with_capacity]
            )
        return Flat(
            device,
            {**attributes, **device.attributes} if device.attributes else attributes,
            {**capacity, **device.capacity} if device.capacity else capacity,
            _policies([*included, device]) if device.is_shareable else {},
        )


def _merged(contents: Iterable[Mapping[QualifiedName, _Value]]) -> dict[QualifiedName, _Value]:
    """Return the contents merged key by key; later ones override earlier ones."""
    merged: dict[QualifiedName, _Value] = {}
    for content in contents:
        merged.update(content)
    return merged


def _policies(entries: Iterable[Mixin | CompositeDevice]) -> dict[QualifiedName, RequestPolicy]:
    """Return the policies of the capacities that count: who overrides a capacity overrides its policy."""
    merged: dict[QualifiedName, RequestPolicy] = {}
    for entry in entries:
        merged = {name: policy for name, policy in merged.items() if name not in entry.capacity}
        merged.update(entry.policies)
    return merged


def _readable(name: DeviceName, flats: Mapping[DeviceName, Flat], parts: _Parts) -> Device:
    """Return what is known of a rejected device, for explanations."""
    flat = flats.get(name)
    if flat is not None:
        return _device(flat, (), parts.nodes[name])
    written = parts.devices.get(name)
    if written is None:
        return Device(name=name)
    return Device(
        name=name,
        attributes=written.attributes,
        capacity=written.capacity,
        nodes=parts.nodes[name],
    )


def _device(flat: Flat, draws: tuple[Draw, ...], nodes: NodeSelection) -> Device:
    return Device(
        name=flat.device.name,
        attributes=flat.attributes,
        capacity=flat.capacity,
        draws=draws,
        parents=parents(flat.device),
        nodes=nodes,
        taints=flat.device.taints,
        only_with=flat.device.only_with,
        is_shareable=flat.device.is_shareable,
        policies=flat.policies,
    )


def _sources(
    devices: Iterable[Device], flats: Mapping[DeviceName, Flat]
) -> dict[SourceName, Mapping[str, Quantity]]:
    """Return the capacity of every device that is drawn from, by dimension."""
    drawn = {draw.source for device in devices for draw in device.draws}
    return {source: as_dimensions(flats[DeviceName(source)].capacity) for source in sorted(drawn)}
