"""Resource classes as the engine allocates them: classes become device classes, a pod's amounts a claim.

Shares of shared devices, and devices that only a ``NodeDevices`` document lists, are in no class here: nobody
could prepare them for the pod.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scheduler_core.base.limits import LABEL_LENGTH
from scheduler_core.frontends.classes.annotation import annotations_of
from scheduler_core.frontends.classes.compile import device_class_of
from scheduler_core.frontends.classes.model import ResourceClass, Use
from scheduler_core.frontends.classes.pods import DOMAIN
from scheduler_core.model.claim import AllocatedDevice, Claim, ClaimRef, DeviceClass, DeviceRequest, Request

REQUEST_PREFIX: Final = "class-"
_NOT_IN_LABELS: Final = re.compile("[^-a-z0-9]+")
_NUMBER: Final = 4  # characters kept free for a number behind a name


def engine_class(resource_class: ResourceClass, driver: str) -> DeviceClass:
    """Return a resource class as a device class of the engine, under the name by which pods ask for it.

    No device class of an API server has that name. It selects devices of ``driver`` that a pod can have as
    they are: alone, and for RDMA if they are NICs or VFs.
    Raises: CannotCompile.
    """
    (selector,) = device_class_of(resource_class)["spec"]["selectors"]
    own = f'device.attributes["{driver}"]'
    prepared = (
        f'device.driver == "{driver}" && !device.allowMultipleAllocations'
        f' && (!("rdmaCapable" in {own}) || {own}.rdmaCapable)'
    )
    return DeviceClass(
        name=f"{DOMAIN}{resource_class.name}", selectors=(prepared, selector["cel"]["expression"])
    )


def class_claim(ref: ClaimRef, requests: Mapping[str, int]) -> Claim:
    """Return the claim for a pod's amounts of classes. Shape: ``requests`` by class, never zero."""
    found = []
    for name, (class_name, count) in zip(_request_names(tuple(requests)), requests.items(), strict=True):
        option = DeviceRequest(name=name, class_name=f"{DOMAIN}{class_name}", count=count)
        found.append(Request(name=name, alternatives=(option,)))
    return Claim(ref=ref, requests=tuple(found))


def unknown_classes(claim: Claim, classes: Mapping[str, DeviceClass]) -> tuple[str, ...]:
    """Return the resource classes of a ``class_claim`` that the engine does not know, in its order."""
    names = (request.alternatives[0].class_name for request in claim.requests)
    return tuple(name.removeprefix(DOMAIN) for name in names if name not in classes)


def class_annotations(claim: Claim, results: Sequence[AllocatedDevice]) -> Mapping[str, str]:
    """Return the annotations that tell a pod which devices it got for which class."""
    names = {one.name: one.alternatives[0].class_name.removeprefix(DOMAIN) for one in claim.requests}
    return annotations_of(
        tuple(Use(names[one.request], str(one.device.device), 1) for one in results if one.request in names)
    )


def _request_names(class_names: Sequence[str]) -> Iterator[str]:
    """Yield a name for each request: a DNS label, which the name of a class need not be."""
    seen: set[str] = set()
    for number, class_name in enumerate(class_names):
        label = REQUEST_PREFIX + _NOT_IN_LABELS.sub("-", class_name.lower())
        label = label[: LABEL_LENGTH - _NUMBER].strip("-")
        if label in seen:
            label = f"{label}-{number}"
        seen.add(label)
        yield label
