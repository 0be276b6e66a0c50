"""Composite devices to flat ones: apply mixins, then find who supplies each dimension.

Mixins apply in the order of ``includes``, key by key, later ones over earlier ones, own keys last. A
dimension is drawn from the last listed source that contains it (a zero counts as containing); a
positive dimension that no source contains, an unknown mixin or source, and a chain that never ends in
a source make that one device unusable. Rules S1 to S6 of docs/semantics.md; source: KEP-4815.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from scheduler_core.base.quantity import Quantity
from scheduler_core.dialects.supply import Flat, Unusable, as_dimensions, find_draws, parents, reject_chains
from scheduler_core.model.composite import CompositeDevice, CompositeSlice, Mixin
from scheduler_core.model.device import AttributeValue, Device, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.nodes import AllNodes, NodeSelection
from scheduler_core.model.pool import Pool, PoolId, Rejected

_Value = TypeVar("_Value", AttributeValue, Quantity)


@dataclass(slots=True)
class _Parts:
    """The entries of a pool by name, and what is wrong with it as a whole."""

    mixins: dict[str, Mixin] = field(default_factory=dict)
    broken_mixins: dict[str, str] = field(default_factory=dict)
    devices: dict[DeviceName, CompositeDevice] = field(default_factory=dict)
    nodes: dict[DeviceName, NodeSelection] = field(default_factory=dict)
    broken: dict[DeviceName, str] = field(default_factory=dict)
    order: list[DeviceName] = field(default_factory=list)
    problem: str | None = None


def flatten(slices: Collection[CompositeSlice]) -> Pool:
    """Return the pool that the slices of one (driver, pool) name form.

    Shape: at least one slice; the newest generation, the older ones behind it. Slices are read in the
           order of their names, so that devices have one order whatever order they arrived in.
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
        seen_from=tuple(dict.fromkeys(composite.nodes or AllNodes() for composite in current)),
        older=older,
    )
    return pool if parts.problem else _resolve(pool, parts)


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
    """Applies mixins. Devices that merge the same contents share one mapping: whoever compiles a pool of
    thousands of devices looks at each content once."""

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
        )


def _merged(contents: Iterable[Mapping[QualifiedName, _Value]]) -> dict[QualifiedName, _Value]:
    """Return the contents laid over each other: key by key, later ones win."""
    merged: dict[QualifiedName, _Value] = {}
    for content in contents:
        merged.update(content)
    return merged


def _readable(name: DeviceName, flats: Mapping[DeviceName, Flat], parts: _Parts) -> Device:
    """Return what can be said of a rejected device, for explanations."""
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
        only_with=flat.device.only_with,
    )


def _sources(
    devices: Iterable[Device], flats: Mapping[DeviceName, Flat]
) -> dict[SourceName, Mapping[str, Quantity]]:
    """Return the capacity of every device that is drawn from, by dimension."""
    drawn = {draw.source for device in devices for draw in device.draws}
    return {source: as_dimensions(flats[DeviceName(source)].capacity) for source in sorted(drawn)}
