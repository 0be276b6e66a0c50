"""Finds the source of every dimension that a device needs, and rejects devices in cycles of sources.

The last listed source that has a dimension supplies it, even with zero. A positive dimension that no source
has, an unknown source, and a cycle of sources make that device unusable, and the devices that are cut from
it. Rules S2 to S6 of docs/semantics.md; source: KEP-4815.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import cast

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.composite import CompositeDevice
from scheduler_core.model.device import AttributeValue, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.names import bare
from scheduler_core.model.policy import RequestPolicy


@dataclass(frozen=True, slots=True)
class Flat:
    """A device with its mixins applied. Its sources are not resolved yet."""

    device: CompositeDevice
    attributes: Mapping[QualifiedName, AttributeValue]
    capacity: Mapping[QualifiedName, Quantity]
    policies: Mapping[QualifiedName, RequestPolicy] = field(default_factory=dict)


class Unusable(Exception):
    """A device cannot be used. The caller knows its name and adds it."""


_Amounts = tuple[Mapping[str, Quantity], ...]


def parents(device: CompositeDevice) -> tuple[DeviceName, ...]:
    """Return the sources without the device itself. A device that names itself supplies itself."""
    if len(device.sources) == 1 and device.sources[0] != device.name:
        return device.sources
    return tuple(dict.fromkeys(name for name in device.sources if name != device.name))


def as_dimensions(capacity: Mapping[QualifiedName, Quantity]) -> Mapping[str, Quantity]:
    """Return a capacity as the amounts of a source: a qualified name is a dimension's name."""
    return cast("Mapping[str, Quantity]", capacity)


def find_draws(
    flats: Mapping[DeviceName, Flat], rejected: dict[DeviceName, str], driver: str
) -> dict[DeviceName, tuple[Draw, ...]]:
    """Return what each device draws from other devices. A device whose needs cannot be met is rejected.

    Devices with the same needs and equal sources share their amounts.
    """
    known: dict[tuple[int, ...], _Amounts] = {}
    draws: dict[DeviceName, tuple[Draw, ...]] = {}
    for name, flat in flats.items():
        try:
            draws[name] = _draws(flat, flats, rejected, driver, known)
        except Unusable as error:
            rejected[name] = str(error)
    return draws


def _draws(
    flat: Flat,
    flats: Mapping[DeviceName, Flat],
    rejected: Mapping[DeviceName, str],
    driver: str,
    known: dict[tuple[int, ...], _Amounts],
) -> tuple[Draw, ...]:
    device = flat.device
    if not device.sources:
        return ()
    for source in device.sources:
        if source not in flats:
            if source not in rejected:
                raise Unusable(f"names unknown source {source!r}")
            return ()  # reject_chains handles a source that is rejected itself
    listed = tuple(dict.fromkeys(device.sources))
    key = (id(flat.capacity), *[0 if s == device.name else id(flats[s].capacity) for s in listed])
    amounts = known.get(key)
    if amounts is None:
        amounts = known[key] = _amounts(flat, [flats[source] for source in listed], driver)
    return tuple(
        [
            Draw(SourceName(source), taken, device.groups.get(source))
            for source, taken in zip(listed, amounts, strict=True)
            if taken or source in device.groups
        ]
    )


def _amounts(flat: Flat, sources: list[Flat], driver: str) -> _Amounts:
    """Return what is drawn from each source. What the device supplies itself is drawn from no source."""
    taken: list[dict[str, Quantity]] = [{} for _ in sources]
    for dimension, quantity in flat.capacity.items():
        if quantity.nano == 0:
            continue
        owner = -1
        for index, source in enumerate(sources):
            if dimension in source.capacity:
                owner = index
        if owner < 0:
            names = ", ".join(source.device.name for source in sources)
            label = bare(dimension, driver)
            raise Unusable(f"needs {quantity} of {label!r}, which none of its sources has: {names}")
        if sources[owner].device.name != flat.device.name:
            taken[owner][dimension] = quantity
    return tuple(taken)


def reject_chains(flats: Mapping[DeviceName, Flat], rejected: dict[DeviceName, str]) -> None:
    """Reject every device with an unusable source above it, or in a cycle of sources.

    Devices are settled from the roots down, each once. A device that is never settled is in a cycle, or
    below one.
    """
    open_parents = {name: len(parents(flat.device)) for name, flat in flats.items() if name not in rejected}
    children: dict[DeviceName, list[DeviceName]] = {}
    for name in open_parents:
        for parent in parents(flats[name].device):
            children.setdefault(parent, []).append(name)
    settled = [name for name, count in open_parents.items() if count == 0]
    for parent in settled:  # the list grows during the loop
        for child in children.get(parent, ()):
            open_parents[child] -= 1
            if open_parents[child] == 0:
                settled.append(child)
    _pass_down(list(rejected), children, rejected)
    for name in sorted(set(open_parents) - set(settled) - set(rejected)):
        rejected[name] = "its sources form a cycle"


def _pass_down(
    from_names: list[DeviceName],
    children: Mapping[DeviceName, list[DeviceName]],
    rejected: dict[DeviceName, str],
) -> None:
    """Reject the devices that are cut from a rejected device, with the first cause."""
    for parent in from_names:  # the list grows during the loop
        for child in children.get(parent, ()):
            if child not in rejected:
                cause = rejected[parent].removeprefix("its source ")
                text = cause if cause != rejected[parent] else f"{parent!r} is unusable: {cause}"
                rejected[child] = f"its source {_short(text)}"
                from_names.append(child)


def _short(text: str) -> str:
    """Return a reason that is short enough to be part of another one."""
    return text if len(text) <= 240 else text[:239] + "…"
