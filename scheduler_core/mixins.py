"""Composite devices to flat ones: apply mixins, then find who supplies each dimension.

Mixins apply in the order of ``includes``, key by key, later ones over earlier ones, own keys last. A
dimension is drawn from the last listed source that contains it (a zero counts as containing); a
positive dimension that no source contains, an unknown mixin or source, and a chain that never ends in
a source make that one device unusable. Rules S1 to S6 of docs/semantics.md; source: KEP-4815.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scheduler_core.model.composite import CompositeDevice, CompositeSlice, Mixin
from scheduler_core.model.device import AttributeValue, Device, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.nodes import AllNodes
from scheduler_core.model.pool import Pool, PoolId, Rejected
from scheduler_core.names import bare
from scheduler_core.quantity import Quantity


@dataclass(frozen=True, slots=True)
class _Flat:
    """A device with its mixins applied, before its sources are looked at."""

    device: CompositeDevice
    attributes: Mapping[QualifiedName, AttributeValue]
    capacity: Mapping[QualifiedName, Quantity]


class _Unusable(Exception):
    """Why one device cannot be used; caught where its name is known."""


@dataclass(slots=True)
class _Parts:
    """The entries of a pool by name, and what is wrong with it as a whole."""

    mixins: dict[str, Mixin] = field(default_factory=dict)
    broken_mixins: dict[str, str] = field(default_factory=dict)
    devices: dict[DeviceName, CompositeDevice] = field(default_factory=dict)
    broken: dict[DeviceName, str] = field(default_factory=dict)
    order: list[DeviceName] = field(default_factory=list)
    problem: str | None = None


def flatten(slices: Sequence[CompositeSlice]) -> Pool:
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
    parts = _Parts()
    for composite in slices:
        parts.problem = parts.problem or composite.problem
        for mixin in composite.mixins:
            parts.problem = parts.problem or _repeated("mixin", mixin.name, parts.mixins)
            parts.mixins[mixin.name] = mixin
        for device in composite.devices:
            parts.problem = parts.problem or _repeated("device", device.name, parts.devices)
            parts.devices[device.name] = _placed(device, composite)
            parts.order.append(device.name)
        parts.broken_mixins |= composite.broken_mixins
        parts.broken |= composite.broken_devices
    return parts


def _placed(device: CompositeDevice, composite: CompositeSlice) -> CompositeDevice:
    return device if device.nodes is not None else replace(device, nodes=composite.nodes or AllNodes())


def _repeated(what: str, name: str, known: Mapping[str, object] | Mapping[DeviceName, object]) -> str | None:
    return f"{what} {name} is listed twice: names must be unique in a pool" if name in known else None


def _resolve(pool: Pool, parts: _Parts) -> Pool:
    rejected = dict(parts.broken)
    flats: dict[DeviceName, _Flat] = {}
    for name in parts.order:
        try:
            flats[name] = _apply(parts.devices[name], parts)
        except _Unusable as error:
            rejected[name] = str(error)
    draws: dict[DeviceName, tuple[Draw, ...]] = {}
    for name, flat in flats.items():
        try:
            draws[name] = _draws(flat, flats, rejected, pool.id.driver)
        except _Unusable as error:
            rejected[name] = str(error)
    _reject_chains(flats, rejected)
    devices = tuple(_device(flats[name], draws[name]) for name in parts.order if name not in rejected)
    ordered = {
        name: Rejected(rejected[name], _readable(name, flats, parts))
        for name in (*parts.order, *parts.broken)
        if name in rejected
    }
    return replace(pool, devices=devices, sources=_sources(devices, flats), rejected=ordered)


def _apply(device: CompositeDevice, parts: _Parts) -> _Flat:
    attributes: dict[QualifiedName, AttributeValue] = {}
    capacity: dict[QualifiedName, Quantity] = {}
    for name in device.includes:
        if name not in parts.mixins:
            raise _Unusable(parts.broken_mixins.get(name, f"includes unknown mixin {name!r}"))
        attributes |= parts.mixins[name].attributes
        capacity |= parts.mixins[name].capacity
    return _Flat(device, attributes | dict(device.attributes), capacity | dict(device.capacity))


def _readable(name: DeviceName, flats: Mapping[DeviceName, _Flat], parts: _Parts) -> Device:
    """Return what can be said of a rejected device, for explanations."""
    flat = flats.get(name)
    if flat is not None:
        return _device(flat, ())
    written = parts.devices.get(name)
    if written is None:
        return Device(name=name)
    return Device(
        name=name,
        attributes=written.attributes,
        capacity=written.capacity,
        nodes=written.nodes or AllNodes(),
    )


def _parents(device: CompositeDevice) -> tuple[DeviceName, ...]:
    """Return the sources but for the device itself: naming itself ends the chain there."""
    return tuple(dict.fromkeys(name for name in device.sources if name != device.name))


def _device(flat: _Flat, draws: tuple[Draw, ...]) -> Device:
    return Device(
        name=flat.device.name,
        attributes=flat.attributes,
        capacity=flat.capacity,
        draws=draws,
        parents=_parents(flat.device),
        nodes=flat.device.nodes or AllNodes(),
        only_with=flat.device.only_with,
    )


def _reject_chains(flats: Mapping[DeviceName, _Flat], rejected: dict[DeviceName, str]) -> None:
    """Reject every device whose chain of sources does not end in usable sources.

    Settles devices from the roots down, each once: whatever never settles stands in a circle or below.
    """
    open_parents = {name: len(_parents(flat.device)) for name, flat in flats.items() if name not in rejected}
    children: dict[DeviceName, list[DeviceName]] = {}
    for name in open_parents:
        for parent in _parents(flats[name].device):
            children.setdefault(parent, []).append(name)
    settled = [name for name, count in open_parents.items() if count == 0]
    for parent in settled:  # grows while it is read
        for child in children.get(parent, ()):
            open_parents[child] -= 1
            if open_parents[child] == 0:
                settled.append(child)
    _pass_down(list(rejected), children, rejected)
    for name in sorted(set(open_parents) - set(settled) - set(rejected)):
        rejected[name] = "its chain of sources goes in a circle and never ends in a source"


def _pass_down(
    from_names: list[DeviceName],
    children: Mapping[DeviceName, list[DeviceName]],
    rejected: dict[DeviceName, str],
) -> None:
    """Reject what is cut from a rejected device, with the first cause."""
    for parent in from_names:  # grows while it is read
        for child in children.get(parent, ()):
            if child not in rejected:
                cause = rejected[parent].removeprefix("its source ")
                text = cause if cause != rejected[parent] else f"{parent!r} is unusable: {cause}"
                rejected[child] = f"its source {_short(text)}"
                from_names.append(child)


def _short(text: str) -> str:
    """Return a reason short enough to stand inside another one."""
    return text if len(text) <= 240 else text[:239] + "…"


def _draws(
    flat: _Flat, flats: Mapping[DeviceName, _Flat], rejected: Mapping[DeviceName, str], driver: str
) -> tuple[Draw, ...]:
    """Return what the device takes from each other device; what it supplies itself is no draw."""
    for source in flat.device.sources:
        if source not in flats and source not in rejected:
            raise _Unusable(f"names unknown source {source!r}")
    if not flat.device.sources or any(source not in flats for source in flat.device.sources):
        return ()  # a source that is itself rejected is dealt with by the chain
    by_source: dict[DeviceName, dict[str, Quantity]] = {}
    for dimension, quantity in flat.capacity.items():
        if quantity.nano == 0:
            continue
        owners = [source for source in flat.device.sources if dimension in flats[source].capacity]
        if not owners:
            label = bare(dimension, driver)
            sources = ", ".join(flat.device.sources)
            raise _Unusable(f"needs {quantity} of {label!r}, which none of its sources has: {sources}")
        if owners[-1] != flat.device.name:
            by_source.setdefault(owners[-1], {})[dimension] = quantity
    groups = flat.device.groups
    return tuple(
        Draw(SourceName(source), by_source.get(source, {}), groups.get(source))
        for source in dict.fromkeys(flat.device.sources)
        if source in by_source or source in groups
    )


def _sources(
    devices: Iterable[Device], flats: Mapping[DeviceName, _Flat]
) -> dict[SourceName, Mapping[str, Quantity]]:
    """Return the capacity of every device that is drawn from, by dimension."""
    drawn = {draw.source for device in devices for draw in device.draws}
    return {
        source: {
            str(dimension): quantity for dimension, quantity in flats[DeviceName(source)].capacity.items()
        }
        for source in sorted(drawn)
    }
