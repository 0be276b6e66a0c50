"""Claim signatures some of whose requests must get devices that were chosen beforehand.

A pinned request has a filter of its own, which matches the chosen devices only. So everything that reads
filters works for pinned requests as for others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from scheduler_core.engine.claims.claim_signature import Alternative, ClaimSignature
from scheduler_core.engine.search.options import MatchedPositions
from scheduler_core.model.device import DeviceId
from scheduler_core.search.pinned import Pins
from scheduler_core.tables.component import Component


def pinned_signature(signature: ClaimSignature, pins: Pins) -> ClaimSignature:
    """Return the signature with a filter of its own for each pinned request.

    Shape: the new filters follow the others, in the order of the requests.
    """
    added = {number: len(signature.filters) + index for index, number in enumerate(sorted(pins))}
    requests = tuple(
        (replace(options[0], filter=added[number], count=len(pins[number])),) if number in pins else options
        for number, options in enumerate(signature.requests)
    )
    filters = (signature.filters[one.filter] for one in _pinned(signature, pins))
    return replace(
        signature,
        filters=(*signature.filters, *filters),
        requests=requests,
        choices=(),
        gap="requests are limited to chosen devices",
    )


def pinned_matches(
    signature: ClaimSignature, pins: Pins, component: Component, matched: MatchedPositions
) -> MatchedPositions:
    """Return what the filters of the pinned signature match in a component.

    Shape: ``matched`` is what the filters of ``signature`` match there.
    """
    found = matched
    for alternative, number in zip(_pinned(signature, pins), sorted(pins), strict=True):
        mask, index = _positions(component, pins[number]), alternative.filter
        found = MatchedPositions(
            (*found.chosen, matched.chosen[index] & mask),
            (*found.barred, matched.barred[index] & mask),
            (*found.failed, matched.failed[index] & mask),
        )
    return found


def _pinned(signature: ClaimSignature, pins: Pins) -> Iterator[Alternative]:
    """Yield the only alternative of each pinned request."""
    for number in sorted(pins):
        (alternative,) = signature.requests[number]
        yield alternative


def _positions(component: Component, devices: Collection[DeviceId]) -> int:
    """Return the positions of some devices in a component."""
    pool, found = component.pool, 0
    for one in devices:
        if one.driver == pool.driver and one.pool == pool.name:
            position = component.layout.index.get(one.device)
            found |= 0 if position is None else 1 << position
    return found
