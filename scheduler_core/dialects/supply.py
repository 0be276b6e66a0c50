"""Who supplies what a flattened device needs, and whether its chain of sources ends in one.

A dimension is drawn from the last listed source that contains it (a zero counts as containing). A
positive dimension that no source contains, an unknown source, and a chain that goes in a circle make
that one device unusable, and what is cut from it. Rules S2 to S6 of docs/semantics.md; source: KEP-4815.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from scheduler_core.base.quantity import Quantity
from scheduler_core.model.composite import CompositeDevice
from scheduler_core.model.device import AttributeValue, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.names import bare


@dataclass(frozen=True, slots=True)
class Flat:
    """A device with its mixins applied, before its sources are looked at."""

    device: CompositeDevice
    attributes: Mapping[QualifiedName, AttributeValue]
    capacity: Mapping[QualifiedName, Quantity]


class Unusable(Exception):
    """Why one device cannot be used; caught where its name is known."""


_Amounts = tuple[Mapping[str, Quantity], ...]


def parents(device: CompositeDevice) -> tuple[DeviceName, ...]:
    """Return the sources but for the device itself: naming itself ends the chain there."""
    if len(device.sources) == 1 and device.sources[0] != device.name:
        return device.sources
    return tuple(dict.fromkeys(name for name in device.sources if name != device.name))


def as_dimensions(capacity: Mapping[QualifiedName, Quantity]) -> Mapping[str, Quantity]:
    """Return a capacity as what a source holds: a qualified name is a dimension's name."""
    return cast("Mapping[str, Quantity]", capacity)


def find_draws(
    flats: Mapping[DeviceName, Flat], rejected: dict[DeviceName, str], driver: str
) -> dict[DeviceName, tuple[Draw, ...]]:
    """Return what each device takes from each other one; those that cannot are rejected.

    Devices with the same needs from sources with the same content share their amounts.
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
            return ()  # a source that is itself rejected is dealt with by the chain
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
    """Return what is taken from each source; what the device supplies itself is taken from nobody."""
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
    """Reject every device whose chain of sources does not end in usable sources.

    Settles devices from the roots down, each once: whatever never settles stands in a circle or below.
    """
    open_parents = {name: len(parents(flat.device)) for name, flat in flats.items() if name not in rejected}
    children: dict[DeviceName, list[DeviceName]] = {}
    for name in open_parents:
        for parent in parents(flats[name].device):
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
