"""Blueprints: what a pool looked like that was compiled before.

Most pools of a cluster are the same machine once more. A pool whose devices are called as those of an
earlier one is only checked against it, device by device: equal amounts, equal sources, equal parents,
equal keys. What remains to be read are the values of attributes. Where anything differs, the blueprint
says so and the pool is read from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from scheduler_core.engine.reader import Found, columns, selection_of
from scheduler_core.engine.skeleton import Entry, Group, Skeleton
from scheduler_core.engine.template import Layout
from scheduler_core.model.device import AttributeValue, Device, DeviceName, QualifiedName, SourceName
from scheduler_core.model.pool import Pool
from scheduler_core.quantity import Quantity

_Row = tuple[AttributeValue, ...]
_Draws = tuple[tuple[SourceName, Mapping[str, Quantity]], ...]


class _Differs(Exception):
    """The pool is another machine."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A component: where its devices are listed, and how the rows of each group are picked."""

    skeleton: Skeleton
    layout: Layout
    groups: tuple[tuple[Group, Callable[[Any], Any]], ...]


class Blueprint:
    """A pool as it was read."""

    def __init__(self, found: Sequence[Found]) -> None:
        self._parts = tuple(
            _Part(
                one.skeleton, one.layout, tuple((group, _picker(group.keys)) for group in one.skeleton.groups)
            )
            for one in found
        )
        bodies: dict[int, tuple[Mapping[QualifiedName, Quantity], _Draws, tuple[DeviceName, ...]]] = {}
        for one in found:
            names, sources = one.layout.names, one.layout.sources
            for listed, body in zip(one.layout.listed, one.skeleton.bodies, strict=True):
                draws = tuple((sources[source], amounts) for source, amounts in body.draws)
                bodies[listed] = (body.capacity, draws, tuple(names[parent] for parent in body.parents))
        self._bodies = tuple(bodies[listed] for listed in sorted(bodies))
        self._sources = {
            source: amounts
            for one in found
            for source, amounts in zip(one.layout.sources, one.skeleton.sources, strict=True)
        }

    def read(self, pool: Pool) -> list[Found] | None:
        """Return the components of a pool whose devices have the same names, None where it differs."""
        if any(pool.sources.get(source) != amounts for source, amounts in self._sources.items()):
            return None
        try:
            self._check(pool.devices)
            return [_found(part, pool.devices) for part in self._parts]
        except (_Differs, KeyError):
            return None

    def _check(self, devices: Sequence[Device]) -> None:
        for device, (capacity, draws, parents) in zip(devices, self._bodies, strict=True):
            if device.capacity is not capacity and device.capacity != capacity:
                raise _Differs
            if device.parents != parents or len(device.draws) != len(draws):
                raise _Differs
            for draw, (source, amounts) in zip(device.draws, draws, strict=True):
                if draw.source != source or (draw.amounts is not amounts and draw.amounts != amounts):
                    raise _Differs


def _found(part: _Part, devices: Sequence[Device]) -> Found:
    listed = part.layout.listed
    mine = [devices[index] for index in listed]
    entries: list[Entry] = []
    for group, pick in part.groups:
        rows: list[_Row] = []
        for position in group.positions:
            attributes = mine[position].attributes
            if len(attributes) != len(group.keys):
                raise _Differs
            rows.append(pick(attributes))
        for (entry, is_spread), expected in zip(columns(rows), group.spread, strict=True):
            if is_spread is not expected:
                raise _Differs
            entries.append(entry)
    return Found(part.skeleton, tuple(entries), part.layout, selection_of(mine))


def _picker(keys: Sequence[QualifiedName]) -> Callable[[Any], Any]:
    """Return what picks the values of some keys. Raises: KeyError when one is missing."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda attributes: tuple(attributes[key] for key in keys)
