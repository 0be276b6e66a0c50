"""The ResourceClaim that the controller writes for a pod's amounts: requests that match what was placed.

The requests name the kinds of the devices, one request for equal devices; the allocation's results name these
requests. The controller writes ``metadata`` and ``spec`` first and ``status`` then, with a time stamp. The
spec of a claim cannot change: where a pod is placed again and the spec differs, its claim is made anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.allocations import allocation_result
from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.frontends.classes.pods import DOMAIN
from scheduler_core.frontends.joint.node_device import Take
from scheduler_core.frontends.pods.exclusive import exclusive_of
from scheduler_core.frontends.pods.hints import TYPES, Exclusive
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.claim import (
    AllocatedClaim,
    AllocatedDevice,
    Claim,
    ClaimRef,
    DeviceClass,
    OpaqueConfig,
)
from scheduler_core.model.device import DeviceId
from scheduler_core.model.names import bare
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.ownership import EXCLUSIVE
from scheduler_core.model.result import Allocation

CLASS_DOMAIN: Final = ".tangram.dev"
"""The device class of a kind of devices is named by their type, such as ``vf.tangram.dev``."""
_THIS: Final = ClaimRef("", "")


@dataclass(frozen=True, slots=True)
class WrittenRequest:
    """A request for equal devices, and what it got. Shape: the results name the request."""

    name: str
    class_name: str
    results: tuple[AllocatedDevice, ...]

    def document(self) -> dict[str, Any]:
        """Return the request as it is written. A request for shares says how much each of them is."""
        exactly: dict[str, Any] = {
            "deviceClassName": self.class_name,
            "allocationMode": "ExactCount",
            "count": len(self.results),
        }
        amounts = {name: str(amount) for name, amount in self.results[0].consumed.items()}
        return {
            "name": self.name,
            "exactly": exactly | ({"capacity": {"requests": amounts}} if amounts else {}),
        }


def requests_of_amounts(placed: PlacedPod, new_share_id: Callable[[], str]) -> tuple[WrittenRequest, ...]:
    """Return the requests for a pod's amounts, in the order of what was placed.

    ``new_share_id`` returns a new UUID for each share of a device.
    """
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[AllocatedDevice]] = {}
    for take, device in _takes(placed):
        share_id = new_share_id() if take.share is not None else None
        consumed = {bare(name, device.driver): amount for name, amount in (take.share or {}).items()}
        equal = (take.type, tuple((name, str(amount)) for name, amount in consumed.items()))
        groups.setdefault(equal, []).append(AllocatedDevice("", device, share_id=share_id, consumed=consumed))
    return tuple(_named(groups))


def requests_of_classes(claim: Claim, results: Sequence[AllocatedDevice]) -> tuple[WrittenRequest, ...]:
    """Return the requests for a pod's amounts of classes. Shape: ``claim`` is its ``class_claim``."""
    found = []
    for request in claim.requests:
        mine = tuple(one for one in results if one.request == request.name)
        found.append(
            WrittenRequest(request.name, request.alternatives[0].class_name.removeprefix(DOMAIN), mine)
        )
    return tuple(found)


def claim_document(
    requests: Sequence[WrittenRequest],
    *,
    node: str,
    metadata: Mapping[str, Any],
    ask: PodAsk | None = None,
    classes: Mapping[str, DeviceClass] | None = None,
) -> dict[str, Any]:
    """Return the claim of a pod, allocated on a node.

    Shape: ``metadata`` is the caller's, to which the pod's exclusive policies are added; ``classes`` are the
           device classes whose configuration counts, by name.
    """
    allocation = Allocation(
        node=node,
        results={_THIS: tuple(one for request in requests for one in request.results)},
        nodes={_THIS: OnNode(node)},
        configs={_THIS: tuple(_configs(requests, classes or {}))},
    )
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": _with_policies(metadata, ask),
        "spec": {"devices": {"requests": [one.document() for one in requests]}},
        "status": {"allocation": allocation_result(allocation, _THIS)},
    }


def held_claim(document: Mapping[str, Any]) -> AllocatedClaim | None:
    """Return what a claim holds, with the exclusive policies in its annotation; None where nothing.

    Policies that cannot be read do not count: the devices are held in any case.
    Raises: InvalidClaim for an allocation that cannot be read.
    """
    claim = decode_allocated_claim(document)
    policies = _policies(document) if claim is not None else {}
    if claim is None or not policies:
        return claim
    drivers = sorted({one.device.driver for one in claim.results})
    exclusive = tuple(
        exclusive_of(kind, policy, driver) for kind, policy in policies.items() for driver in drivers
    )
    return replace(claim, exclusive=exclusive)


def _takes(placed: PlacedPod) -> Iterator[tuple[Take, DeviceId]]:
    for kind, node_devices in placed.node_devices.items():
        for node_device, devices in zip(node_devices, placed.devices[kind], strict=True):
            yield from zip(node_device.takes, devices, strict=True)


def _named(
    groups: Mapping[tuple[str, tuple[tuple[str, str], ...]], list[AllocatedDevice]],
) -> Iterator[WrittenRequest]:
    """Yield the requests: named by the type, with a number where several differ in their shares."""
    seen: dict[str, int] = {}
    for (kind, _), results in groups.items():
        seen[kind] = seen.get(kind, 0) + 1
        name = kind if seen[kind] == 1 else f"{kind}-{seen[kind]}"
        named = tuple(replace(one, request=name) for one in results)
        yield WrittenRequest(name, f"{kind}{CLASS_DOMAIN}", named)


def _configs(
    requests: Sequence[WrittenRequest], classes: Mapping[str, DeviceClass]
) -> Iterator[OpaqueConfig]:
    """Yield what the classes of the requests say of their devices, as kube-scheduler would copy it."""
    for request in requests:
        known = classes.get(request.class_name)
        for one in known.configs if known is not None else ():
            yield replace(one, requests=(request.name,), from_class=True)


def _with_policies(metadata: Mapping[str, Any], ask: PodAsk | None) -> dict[str, Any]:
    hints = ask.hints if ask is not None else {}
    kinds = ask.asks if ask is not None else {}
    policies = {kind: str(hint.exclusive) for kind, hint in hints.items() if hint.exclusive and kind in kinds}
    if not policies:
        return dict(metadata)
    annotations = {**(metadata.get("annotations") or {}), EXCLUSIVE: json.dumps(policies, sort_keys=True)}
    return {**metadata, "annotations": annotations}


def _policies(document: Mapping[str, Any]) -> dict[str, Exclusive]:
    """Return the policies in a claim's annotation, by type; those that are none are left out."""
    annotations = (document.get("metadata") or {}).get("annotations")
    text = annotations.get(EXCLUSIVE) if isinstance(annotations, Mapping) else None
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, Mapping):
        return {}
    known = tuple(Exclusive)
    return {kind: Exclusive(found[kind]) for kind in TYPES if found.get(kind) in known}
