"""Where kube-scheduler's allocator would not give what this core gives, as sentences.

Both follow the same rules with the exceptions that docs/semantics.md lists. Two of them a user can avoid, and
cannot find: the claim fits here and waits in the cluster. These are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import Claim, ClaimRef, DeviceRequest
from scheduler_core.model.names import bare, qualified
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What kube-scheduler would decide otherwise.

    Shape: ``request`` is the request or alternative that it would not serve; ``text`` a sentence without the
           claim and the request.
    """

    claim: ClaimRef
    request: str
    text: str

    def __str__(self) -> str:
        return f"{self.claim} request {self.request}: {self.text}"


def decided_otherwise(
    claims: Sequence[Claim], pools: Sequence[Pool], allocation: Allocation
) -> tuple[Otherwise, ...]:
    """Return why kube-scheduler would not give an allocation of claims of one pod."""
    found = (*_names_given(claims, pools, allocation), *_admin_given(claims, pools, allocation))
    return tuple(dict.fromkeys(found))


def other_names(option: DeviceRequest, pool: Pool) -> Iterator[str]:
    """Yield a sentence for each capacity that a request and the pool's devices write differently.

    A name without a domain is of the driver's domain, says the API. kube-scheduler compares the texts.
    """
    for key in option.capacity:
        name = qualified(key, pool.id.driver)
        written = name if name in pool.full_names else bare(name, pool.id.driver)
        if key != written and any(name in device.capacity for device in pool.devices):
            yield (
                f"kube-scheduler would not give it a device of pool {pool.id}: it asks for the capacity "
                f"{key}, and the devices list {written}; kube-scheduler compares the names as they are "
                f"written, so ask for {written}"
            )


def after_admin_access(claims: Sequence[Claim]) -> Iterator[tuple[str, Claim, str]]:
    """Yield each ordinary request of claims of one pod that comes after admin access to its class.

    Shape: the request, its claim, and a sentence.
    """
    for earlier, admin, later, ordinary in _admin_before(claims):
        if admin.class_name == ordinary.class_name:
            devices = f"it a device of class {admin.class_name} that the pod has"
            yield ordinary.name, later, _after_admin_text(devices, earlier, admin)


def _after_admin_text(what: str, earlier: Claim, admin: DeviceRequest) -> str:
    return (
        f"kube-scheduler would not give {what} with admin access already (request {admin.name} of claim "
        f"{earlier.ref.name}); list that claim last in the pod's resourceClaims"
    )


def _admin_before(claims: Sequence[Claim]) -> Iterator[tuple[Claim, DeviceRequest, Claim, DeviceRequest]]:
    """Yield pairs of a request with admin access and an ordinary one of a later claim of the same pod.

    kube-scheduler gives a device with admin access to no later request of the pod, though admin access takes
    nothing, says the API. In one claim both allocators give an exclusive device once.
    """
    for number, later in enumerate(claims):
        ordinary = [option for option in _options(later) if not option.admin_access]
        for earlier in claims[:number]:
            for admin in _options(earlier):
                if admin.admin_access:
                    yield from ((earlier, admin, later, option) for option in ordinary)


def _options(claim: Claim) -> Iterator[DeviceRequest]:
    return (option for request in claim.requests for option in request.alternatives)


def _names_given(
    claims: Sequence[Claim], pools: Sequence[Pool], allocation: Allocation
) -> Iterator[Otherwise]:
    by_id = {(pool.id.driver, pool.id.name): pool for pool in pools}
    for claim in claims:
        options = {option.name: option for option in _options(claim)}
        for result in allocation.results.get(claim.ref, ()):
            pool, option = by_id.get((result.device.driver, result.device.pool)), options.get(result.request)
            if pool is not None and option is not None:
                yield from (Otherwise(claim.ref, option.name, text) for text in other_names(option, pool))


def _admin_given(
    claims: Sequence[Claim], pools: Sequence[Pool], allocation: Allocation
) -> Iterator[Otherwise]:
    exclusive = {pool.id_of(one) for pool in pools for one in pool.devices if not one.is_shareable}
    results = allocation.results
    for earlier, admin, later, ordinary in _admin_before(claims):
        watched = {one.device for one in results.get(earlier.ref, ()) if one.request == admin.name}
        for one in results.get(later.ref, ()):
            if one.request == ordinary.name and one.device in watched & exclusive:
                text = _after_admin_text(f"it {one.device.device}, which the pod has", earlier, admin)
                yield Otherwise(later.ref, ordinary.name, text)
