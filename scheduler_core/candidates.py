"""Which devices a request may get at all: visible from the node, of the class, selected.

Nothing here depends on what is in use. A selector that fails on a device is kept as the answer for that
device and raised by whoever needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scheduler_core.errors import InvalidClaim, SelectorError
from scheduler_core.model.claim import Claim, DeviceClass, DeviceRequest
from scheduler_core.model.device import Device
from scheduler_core.model.nodes import Node, admits
from scheduler_core.model.pool import Pool
from scheduler_core.selectors import DeviceView, Selector, compile_selector, view


@dataclass(frozen=True, slots=True)
class Offer:
    """A device of a pool, as a selector sees it. Shape: ``pool`` indexes the list of pools."""

    pool: int
    device: Device
    view: DeviceView


@dataclass(frozen=True, slots=True)
class Candidate:
    """An offer that a request selects; ``error`` where its selectors failed on it."""

    offer: Offer
    error: SelectorError | None = None


def offers(pools: Sequence[Pool], node: Node) -> tuple[Offer, ...]:
    """Return the usable devices that the node sees, in order of preference: pools by driver and name."""
    return tuple(
        Offer(index, device, view(pool.id.driver, device))
        for index, pool in enumerate(pools)
        if pool.problem is None and pool.is_complete
        for device in pool.devices
        if admits(device.nodes, node)
    )


def rejected_offers(pools: Sequence[Pool], node: Node) -> tuple[Offer, ...]:
    """Return the devices that broke a rule and would be seen from the node."""
    return tuple(
        Offer(index, rejected.device, view(pool.id.driver, rejected.device))
        for index, pool in enumerate(pools)
        for rejected in pool.rejected.values()
        if admits(rejected.device.nodes, node)
    )


def selectors_of(
    request: DeviceRequest, claim: Claim, classes: Mapping[str, DeviceClass]
) -> tuple[Selector, ...]:
    """Return the selectors of the class, then the request's, compiled.

    Raises: InvalidClaim for an unknown class; SelectorError for one that does not compile.
    """
    device_class = classes.get(request.class_name)
    if device_class is None:
        known = ", ".join(sorted(classes)) or "none"
        rule = f"names no DeviceClass; known: {known}"
        raise InvalidClaim(
            f"ResourceClaim {claim.ref}", f"request {request.name} deviceClassName", request.class_name, rule
        )
    return tuple(compile_selector(text) for text in (*device_class.selectors, *request.selectors))


def select(selectors: Sequence[Selector], seen: Sequence[Offer]) -> Iterator[Candidate]:
    """Yield the offers that every selector accepts, and those on which one fails."""
    for offer in seen:
        try:
            if all(selector.matches(offer.view) for selector in selectors):
                yield Candidate(offer)
        except SelectorError as error:
            yield Candidate(offer, error)
