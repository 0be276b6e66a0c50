"""The projection of a composite pool to ``resource.k8s.io/v1``: exact, or refused with the reason.

Every source becomes a counter set and every draw consumes counters. A device that other devices draw from
consumes its whole set, so that it and its parts exclude each other. Devices with many sources draw from one
additional set, the combined one. A device that is cut into devices and itself cut from another is charged
once for all its parts; ``nested_counters`` finds the counters that say so. Counters cannot express all:
such a device is refused where pairs do not decide, and so is a source that nothing is drawn from (its use
would exclude nothing).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from scheduler_core.base import limits
from scheduler_core.base.errors import CannotProject
from scheduler_core.base.quantity import Quantity
from scheduler_core.dialects.combined_counters import COMBINED, CombinedCounters, combined_counters_of
from scheduler_core.dialects.nested_counters import (
    NestedCounters,
    Slot,
    nested_counters_of,
    sentences,
    slot_name,
)
from scheduler_core.dialects.spelling import SpellingTable, table
from scheduler_core.model.device import Device, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.nodes import NOWHERE
from scheduler_core.model.pool import Pool


def project(pool: Pool) -> Pool:
    """Return the same pool with counters instead of parents, in v1's names.

    Shape: devices in the same order, without rejected ones and without those that are usable from no node
           and only supply others; sources have the dimensions that some device draws, by counter name.
    Raises: CannotProject with every reason.
    """
    names = table(_dimensions(pool), (device.name for device in pool.devices))
    combined, nested = combined_counters_of(pool), nested_counters_of(pool)
    reasons = (*_reasons(pool, combined, nested), *names.problems, *nested.misnamed(names))
    if reasons:
        raise CannotProject(str(pool.id), reasons)
    sources = _counter_sets(pool, names, combined, nested)
    devices = tuple(
        _device(device, names, sources, combined, nested)
        for device in pool.devices
        if device.nodes != NOWHERE
    )
    return replace(pool, devices=devices, sources=sources, rejected={}, partitionable=None)


def spellings(pool: Pool) -> SpellingTable:
    """Return the table by which ``project`` spells the pool's names."""
    return table(_dimensions(pool), (device.name for device in pool.devices))


def _dimensions(pool: Pool) -> Iterator[QualifiedName]:
    for device in pool.devices:
        yield from device.capacity


def _reasons(pool: Pool, combined: CombinedCounters, nested: NestedCounters) -> Iterator[str]:
    if pool.problem is not None:
        yield pool.problem
    yield from combined.problems
    yield from sentences(nested.problems)
    for device in pool.devices:
        if device.only_with is not None:
            yield f"{device.name} has compatibleOnlyWith, for which v1 has no field"
        drawn = {DeviceName(draw.source) for draw in device.draws if draw.amounts}
        idle = [parent for parent in device.parents if parent not in drawn]
        if idle:
            yield f"{device.name} names {idle[0]} without drawing anything from it"
        sets = combined.sets_of(device)
        if sets > limits.COUNTER_SETS_PER_DEVICE:
            yield f"{device.name} draws from {sets} sources; v1 allows 2 counter sets"
        size = len(device.attributes) + len(device.capacity)
        if size > limits.PROPERTIES:
            yield f"{device.name} has {size} attributes and capacities; v1 allows {limits.PROPERTIES}"
    for source, drawn_dimensions in _drawn(pool, combined, nested).items():
        if len(drawn_dimensions) > limits.COUNTERS:
            yield f"{source} supplies {len(drawn_dimensions)} dimensions; v1 allows {limits.COUNTERS}"


def _drawn(
    pool: Pool, combined: CombinedCounters, nested: NestedCounters
) -> dict[SourceName, dict[str, None]]:
    """Return the dimensions that some device draws, by source, in the order of first use."""
    drawn: dict[SourceName, dict[str, None]] = {}
    for device in pool.devices:
        if nested.is_leaf(device.name):
            continue
        for draw in combined.remaining(device.draws):
            drawn.setdefault(draw.source, {}).update(dict.fromkeys(draw.amounts))
    return drawn


def _counter_sets(
    pool: Pool, names: SpellingTable, combined: CombinedCounters, nested: NestedCounters
) -> dict[SourceName, Mapping[str, Quantity]]:
    """Return the counter sets in the order of their devices, the combined set last."""
    drawn = _drawn(pool, combined, nested)
    own: dict[SourceName, Mapping[str, Quantity]] = {
        SourceName(names.devices[device.name]): {
            names.dimensions[QualifiedName(dimension)].counter: pool.sources[SourceName(device.name)][
                dimension
            ]
            for dimension in sorted(drawn.get(SourceName(device.name), ()))
        }
        | _slots(device.name, nested.totals.get(device.name, {}), names)
        for device in pool.devices
        if SourceName(device.name) in drawn or device.name in nested.totals
    }
    shared = {
        names.dimensions[QualifiedName(name)].counter: whole for name, whole in combined.amounts.items()
    }
    return own | ({COMBINED: shared} if shared else {})


def _device(
    device: Device,
    names: SpellingTable,
    sources: Mapping[SourceName, Mapping[str, Quantity]],
    combined: CombinedCounters,
    nested: NestedCounters,
) -> Device:
    label = names.devices[device.name]
    whole = sources.get(SourceName(label))
    if whole is not None:
        draws: tuple[Draw, ...] = (
            Draw(SourceName(label), {name: amount for name, amount in whole.items() if amount.nano > 0}),
        )
    elif nested.is_leaf(device.name):
        draws = ()
    else:
        draws = tuple(_draw(draw, names) for draw in combined.remaining(device.draws))
    draws = _with_slots(draws, device, names, nested)
    shared = combined.drawn_by(device)
    if shared:
        draws += (_draw(Draw(COMBINED, shared), names, COMBINED),)
    return replace(
        device,
        name=label,
        capacity={names.dimensions[name].capacity: amount for name, amount in device.capacity.items()},
        policies={names.dimensions[name].capacity: policy for name, policy in device.policies.items()},
        draws=draws,
        parents=(),
    )


def _with_slots(
    draws: tuple[Draw, ...], device: Device, names: SpellingTable, nested: NestedCounters
) -> tuple[Draw, ...]:
    """Add what a device takes of the slots of its roots to what it draws there."""
    found = {draw.source: draw for draw in draws}
    for root, slots in nested.drawn.get(device.name, {}).items():
        source = SourceName(names.devices[root])
        draw = found.get(source, Draw(source, {}))
        found[source] = replace(draw, amounts={**draw.amounts, **_slots(root, slots, names)})
    return tuple(found.values())


def _slots(root: DeviceName, slots: Mapping[Slot, Quantity], names: SpellingTable) -> dict[str, Quantity]:
    """Return amounts of slots by the names of their counters."""
    return {slot_name(slot, root, names): amount for slot, amount in sorted(slots.items())}


def _draw(draw: Draw, names: SpellingTable, source: SourceName | None = None) -> Draw:
    return Draw(
        source or SourceName(names.devices[DeviceName(draw.source)]),
        {
            names.dimensions[QualifiedName(dimension)].counter: amount
            for dimension, amount in sorted(draw.amounts.items())
        },
        draw.groups,
    )
