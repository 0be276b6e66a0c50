"""Checks what one claim got against its requests, counts and constraints.

Takes a claim and its results; returns a sentence for each broken rule. It is written from the rules alone and
shares no code with the allocators. Rules S9 and S12 to S16 of docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.features import Features
from scheduler_core.base.limits import RESULTS
from scheduler_core.model.claim import AllocatedDevice, Claim, Constraint, DeviceRequest, MatchAttribute
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.consumption import consumed
from scheduler_core.model.device import AttributeValue, Device, DeviceId, Scalar
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import Node, admits
from scheduler_core.model.pool import Pool
from scheduler_core.model.taints import Effect
from scheduler_core.rules.selectors import compile_derived, compile_selector, view

_Typed = tuple[type, Scalar]


class Requests:
    """What the requests of claims may get on one node."""

    def __init__(self, cluster: Cluster, pools: Sequence[Pool], node: Node) -> None:
        self._cluster = cluster
        self.devices: Mapping[DeviceId, Device] = {
            pool.id_of(device): device
            for pool in pools
            if pool.problem is None and pool.is_complete
            for device in pool.devices
            if admits(device.nodes, node) and _is_meaningful(device, cluster.features)
        }
        self._sees_all = all(pool.is_complete for pool in pools if pool.is_seen_from(node))

    def broken_rules(self, claim: Claim, results: Sequence[AllocatedDevice]) -> Iterator[str]:
        """Yield a sentence for each rule of the claim that the results break."""
        if len(results) > RESULTS:
            yield f"{len(results)} devices in one claim; at most {RESULTS} are allowed"
        for result in results:
            yield from self._unasked(claim, result)
        for request in claim.requests:
            yield from self._miscounted(request.alternatives, results)
        for one, other in combinations(results, 2):
            device = self.devices.get(one.device)
            is_exclusive = device is None or not device.is_shareable
            if one.device == other.device and is_exclusive and (one.admin_access or other.admin_access):
                yield f"{one.device} is used with admin access by a claim that has it already"
        for constraint in claim.constraints:
            yield from self._unconstrained(claim, constraint, results)

    def _unasked(self, claim: Claim, result: AllocatedDevice) -> Iterator[str]:
        """Alternatives may share a name: the device must fit one of them."""
        options = [one for request in claim.requests for one in request.alternatives]
        found = [list(self._unfit(one, result)) for one in options if one.name == result.request]
        if not found:
            yield f"{result.device} answers {result.request}, which the claim does not ask"
        elif all(found):
            yield from found[0]

    def _unfit(self, option: DeviceRequest, result: AllocatedDevice) -> Iterator[str]:
        device = self.devices.get(result.device)
        if device is None:
            yield f"{result.device} cannot be used on the node"
            return
        if not self._is_selected(option, result.device, device):
            yield f"{result.device} is not what {option.name} selects"
        for taint in device.taints if self._cluster.features.DRADeviceTaints else ():
            if taint.effect is not Effect.NONE and not any(one.covers(taint) for one in option.tolerations):
                yield f"{result.device} has taint {taint.key}, which {option.name} does not tolerate"
        fractions = self._cluster.features.DRAFractionalCapacityRange
        wanted = _shares(option, result.device, device, fractions) if device.is_shareable else {}
        given = {qualified(key, result.device.driver): amount for key, amount in result.consumed.items()}
        if wanted != given:
            yield f"{result.device} is consumed by other amounts than {option.name} asks"

    def _is_selected(self, option: DeviceRequest, place: DeviceId, device: Device) -> bool:
        texts = (*self._cluster.classes[option.class_name].selectors, *option.selectors)
        seen = view(place.driver, device)
        try:
            return all(compile_selector(text).matches(seen) for text in texts) and _is_large_enough(
                option, place, device
            )
        except SelectorError:
            return False

    def _miscounted(
        self, alternatives: Sequence[DeviceRequest], results: Sequence[AllocatedDevice]
    ) -> Iterator[str]:
        names = {option.name for option in alternatives}
        given = [one for one in results if one.request in names]
        answered = {one.request for one in given}
        if len(answered) != 1:
            yield f"{len(answered)} of {', '.join(sorted(names))} are answered; it must be one"
            return
        options = [option for option in alternatives if option.name in answered]
        if not any(self._is_filled(option, [one.device for one in given]) for option in options):
            count = "all that match" if options[0].count is None else options[0].count
            yield f"{options[0].name} asks for {count}, and got {len(given)}"

    def _is_filled(self, option: DeviceRequest, given: Sequence[DeviceId]) -> bool:
        if option.count is not None:
            return len(given) == option.count
        wanted = {place for place, one in self.devices.items() if self._is_selected(option, place, one)}
        return self._sees_all and set(given) == wanted

    def _unconstrained(
        self, claim: Claim, constraint: Constraint, results: Sequence[AllocatedDevice]
    ) -> Iterator[str]:
        bound = [one for one in results if _binds(constraint, one.request)]
        lists = self._cluster.features.DRAListTypeAttributes
        values = [_values(self._compared(claim, constraint, one), lists) for one in bound]
        what = f"{type(constraint).__name__} {constraint.attribute}"
        if not all(values):
            yield f"{what}: a device lacks the attribute"
        elif isinstance(constraint, MatchAttribute):
            if values and not frozenset.intersection(*values):
                yield f"{what}: the devices have no value in common"
        elif any(one & other for one, other in combinations(values, 2)):
            yield f"{what}: two devices have a value in common"

    def _compared(
        self, claim: Claim, constraint: Constraint, result: AllocatedDevice
    ) -> AttributeValue | None:
        """Return the value that a constraint compares: derived for the request, or the device's own."""
        device = self.devices.get(result.device)
        if device is None:
            return None
        options = [one for request in claim.requests for one in request.alternatives]
        derived = next((dict(one.derived) for one in options if one.name == result.request), {})
        text = derived.get(constraint.attribute)
        if text is None:
            return device.attributes.get(constraint.attribute)
        return compile_derived(text).of(view(result.device.driver, device))


def _is_meaningful(device: Device, features: Features) -> bool:
    """Whether no feature is off that the device needs."""
    needed = (
        (features.DRAPartitionableDevices, bool(device.draws)),
        (features.DRADeviceCompatibilityGroups, any(draw.groups for draw in device.draws)),
        (features.DRAConsumableCapacity, device.is_shareable),
        (features.binding, bool(device.binding.conditions)),
    )
    return all(is_on or not is_needed for is_on, is_needed in needed)


def _is_large_enough(option: DeviceRequest, place: DeviceId, device: Device) -> bool:
    for key, amount in option.capacity.items():
        has = device.capacity.get(qualified(key, place.driver))
        if has is None or amount > has:
            return False
    return True


def _shares(option: DeviceRequest, place: DeviceId, device: Device, fractions: bool) -> Mapping[str, object]:
    wanted = {qualified(key, place.driver): amount for key, amount in option.capacity.items()}
    return {
        name: consumed(wanted.get(name), value, device.policies.get(name), fractions=fractions)
        for name, value in device.capacity.items()
    }


def _binds(constraint: Constraint, request: str) -> bool:
    named = constraint.requests
    return not named or request in named or request.split("/", maxsplit=1)[0] in named


def _values(value: AttributeValue | None, lists: bool) -> frozenset[_Typed]:
    if value is None or (isinstance(value, tuple) and not lists):
        return frozenset()
    return frozenset((type(one), one) for one in (value if isinstance(value, tuple) else (value,)))
