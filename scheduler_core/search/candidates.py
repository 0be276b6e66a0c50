"""Which devices a request may get at all: usable on the node, of the class, and selected.

Nothing here depends on which devices are in use. If a selector fails on a device, the error is kept in the
device's ``Candidate``. The search raises it when it tries that device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scheduler_core.base.errors import AmountError, InvalidClaim, SelectorError
from scheduler_core.base.features import ALL, Features
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.usage import Share
from scheduler_core.model.claim import Claim, DeviceClass, DeviceRequest, Request
from scheduler_core.model.consumption import BadAmount, resolved, share_of
from scheduler_core.model.device import Device
from scheduler_core.model.nodes import Node, admits
from scheduler_core.model.obstacles import RequestObstacle
from scheduler_core.model.pool import Pool
from scheduler_core.rules.selectors import DeviceView, Selector, compile_selector, view


@dataclass(frozen=True, slots=True)
class Offer:
    """A device of a pool, with its view for selectors. Shape: ``pool`` indexes the list of pools."""

    pool: int
    device: Device
    view: DeviceView


@dataclass(frozen=True, slots=True)
class Candidate:
    """An offer that a request selects.

    Shape: ``share`` what the request would consume of a shareable device, None of any other;
           ``error`` where the selectors failed on it; ``obstacle`` why the request cannot get it, whichever
           devices are in use.
    """

    offer: Offer
    share: Share | None = None
    error: SelectorError | None = None
    obstacle: RequestObstacle | None = None


def offers(pools: Sequence[Pool], node: Node, features: Features = ALL) -> tuple[Offer, ...]:
    """Return the usable devices that the node sees, in order of preference.

    Shape: pools by driver and name, but those last of which the node sees a device with binding conditions;
           devices as listed.
    """
    ranked = sorted(enumerate(pools), key=lambda item: _waits(item[1], node))
    return tuple(
        Offer(index, device, view(pool.id.driver, device, str(pool.id)))
        for index, pool in ranked
        if pool.problem is None and pool.is_complete
        for device in pool.devices
        if admits(device.nodes, node) and _is_enabled(device, features)
    )


def _waits(pool: Pool, node: Node) -> bool:
    return any(device.binding.conditions and admits(device.nodes, node) for device in pool.devices)


def _is_enabled(device: Device, features: Features) -> bool:
    """Whether every feature is on that the device's fields need."""
    return (
        (features.DRAPartitionableDevices or not device.draws)
        and (features.DRAConsumableCapacity or not device.is_shareable)
        and (features.binding or not device.binding.conditions)
    )


def rejected_offers(pools: Sequence[Pool], node: Node) -> tuple[Offer, ...]:
    """Return the devices that break a rule and that the node would otherwise see."""
    return tuple(
        Offer(index, rejected.device, view(pool.id.driver, rejected.device, str(pool.id)))
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
        rule = f"there is no such DeviceClass; known: {known}"
        raise InvalidClaim(
            f"ResourceClaim {claim.ref}", f"request {request.name} deviceClassName", request.class_name, rule
        )
    return tuple(compile_selector(text) for text in (*device_class.selectors, *request.selectors))


def check_features(request: Request, claim: Claim, features: Features) -> None:
    """Refuse a request that needs a feature which is off. Raises: InvalidClaim."""
    for option in request.alternatives:
        needed = {
            "DRAPrioritizedList": option.name != request.name,
            "DRAAdminAccess": option.admin_access,
            "DRAConsumableCapacity": bool(option.capacity),
            "DRADerivedAttributes": bool(option.derived),
        }
        for feature, is_needed in needed.items():
            if is_needed and not getattr(features, feature):
                rule = f"needs the feature {feature}, which is off"
                raise InvalidClaim(f"ResourceClaim {claim.ref}", f"request {option.name}", None, rule)


def located(
    error: SelectorError, claims: Sequence[Claim], classes: Mapping[str, DeviceClass]
) -> SelectorError:
    """Return the error with the object and the field that have its expression."""
    for claim in claims:
        for request in claim.requests:
            for option in request.alternatives:
                if isinstance(error, AmountError):
                    if any(f"{key}={amount}" == error.expression for key, amount in option.capacity.items()):
                        return error.at(f"ResourceClaim {claim.ref}: request {option.name} capacity.requests")
                    continue
                for name, text in option.derived:
                    if text == error.expression:
                        return error.at(f"ResourceClaim {claim.ref}: request {option.name} derived {name}")
                if error.expression in option.selectors:
                    field = f"request {option.name} selectors[{option.selectors.index(error.expression)}]"
                    return error.at(f"ResourceClaim {claim.ref}: {field}.cel.expression")
                held = classes[option.class_name].selectors if option.class_name in classes else ()
                if error.expression in held:
                    field = f"spec.selectors[{held.index(error.expression)}]"
                    return error.at(f"DeviceClass {option.class_name}: {field}.cel.expression")
    return error


def select(
    selectors: Sequence[Selector], request: DeviceRequest, seen: Sequence[Offer], features: Features = ALL
) -> Iterator[Candidate]:
    """Yield the offers that are selected and large enough, and those on which something fails."""
    for offer in seen:
        try:
            if all(selector.matches(offer.view) for selector in selectors):
                fits, share = _capacity(request, offer, fractions=features.DRAFractionalCapacityRange)
                if fits:
                    yield Candidate(offer, share)
        except SelectorError as error:
            yield Candidate(offer, error=error)


def _capacity(request: DeviceRequest, offer: Offer, *, fractions: bool) -> tuple[bool, Share | None]:
    """Return whether the device has what the request wants of it, and the share if it can be shared.

    Raises: AmountError for an amount that Kubernetes cannot apply to the device.
    """
    device = offer.device
    try:
        wanted = resolved(request.capacity.items(), offer.view.driver, device.capacity)
        if wanted is None:
            return False, None
        if not device.is_shareable:
            return all(amount <= device.capacity[name] for name, (_, amount) in wanted.items()), None
        share = share_of(wanted, device.capacity, device.policies, fractions=fractions)
    except BadAmount as bad:
        raise AmountError(bad.amount, bad.reason, device.name, pool=offer.view.pool) from None
    return share is not None, share
