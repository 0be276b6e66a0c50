"""Builders for tests, ours and those of people who use the core as a library: a pool in three lines.

Amounts are whole units of one dimension per keyword; names are bare and belong to ``DRIVER``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.dialects.mixins import flatten
from scheduler_core.model.claim import (
    AllocatedClaim,
    AllocatedDevice,
    Claim,
    ClaimRef,
    Constraint,
    DeviceClass,
    DeviceRequest,
    Request,
)
from scheduler_core.model.composite import CompositeDevice, CompositeSlice, Mixin
from scheduler_core.model.device import AttributeValue, DeviceId, DeviceName
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import Node, OnNode
from scheduler_core.model.pool import Pool, PoolId

DRIVER: Final = "driver.example.com"
NODE: Final = Node("node-1", {"kubernetes.io/hostname": "node-1"})
ANY: Final = DeviceClass(name="any")


def device(
    name: str,
    *,
    sources: Sequence[str] = (),
    includes: Sequence[str] = (),
    attributes: dict[str, AttributeValue] | None = None,
    **capacity: int,
) -> CompositeDevice:
    """Return a composite device; ``capacity`` in whole units."""
    return CompositeDevice(
        name=DeviceName(name),
        sources=tuple(DeviceName(source) for source in sources),
        includes=tuple(includes),
        attributes={qualified(key, DRIVER): value for key, value in (attributes or {}).items()},
        capacity={qualified(key, DRIVER): Quantity.of(amount) for key, amount in capacity.items()},
    )


def mixin(name: str, *, attributes: dict[str, AttributeValue] | None = None, **capacity: int) -> Mixin:
    """Return a mixin; ``capacity`` in whole units."""
    return Mixin(
        name=name,
        attributes={qualified(key, DRIVER): value for key, value in (attributes or {}).items()},
        capacity={qualified(key, DRIVER): Quantity.of(amount) for key, amount in capacity.items()},
    )


def pool(*devices: CompositeDevice, mixins: Sequence[Mixin] = (), node: str = NODE.name) -> Pool:
    """Return the flattened pool of one node."""
    return flatten(
        [
            CompositeSlice(
                name=f"{node}-slice",
                pool=PoolId(DRIVER, node),
                nodes=OnNode(node),
                mixins=tuple(mixins),
                devices=devices,
            )
        ]
    )


def request(name: str, *selectors: str, count: int | None = 1) -> Request:
    """Return a request for devices of class ``any``."""
    wanted = DeviceRequest(name=name, class_name=ANY.name, selectors=selectors, count=count)
    return Request(name=name, alternatives=(wanted,))


def claim(*requests: Request, constraints: Sequence[Constraint] = (), name: str = "claim") -> Claim:
    """Return a claim in the namespace ``default``."""
    return Claim(ref=ClaimRef("default", name), requests=requests, constraints=tuple(constraints))


def held(*devices: str, by: str = "other", pool_name: str = NODE.name) -> AllocatedClaim:
    """Return a claim that holds devices of the pool."""
    return AllocatedClaim(
        ref=ClaimRef("default", by),
        results=tuple(
            AllocatedDevice("r", DeviceId(DRIVER, pool_name, DeviceName(device))) for device in devices
        ),
    )
