"""PURE: a device of several nodes to the whole GPUs of this node that it consists of.

Takes an allocated device, what its pool says of its members, and the node's devices; returns the GPUs in the
form in which the node itself would publish them (docs/decisions/0065-gpus-of-many-nodes.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final

from agent.hardware.types import GpuUuid
from agent.inventory.model import NodeDevices
from agent.inventory.names import gpu_name
from agent.inventory.published import GpuPartition, WholeGpu
from plugin.base.errors import ClaimUnusable, DeviceUnusable, UnknownDevice
from scheduler_core.codec.members import Members
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice
from scheduler_core.model.device import DeviceName
from scheduler_core.model.ownership import MULTI_NODE

Pools = Mapping[str, Members]
"""By the name of a pool of several nodes: which GPUs of which node each of its devices consists of."""
NO_POOLS: Final[Pools] = MappingProxyType({})
_POOL: Final = "the administrator corrects the MultiNodePool"


def is_of_many_nodes(device: AllocatedDevice) -> bool:
    """Whether a device is of a pool that no node owns."""
    return device.device.pool.startswith(MULTI_NODE)


def pools_of(claim: AllocatedClaim, driver: str) -> tuple[str, ...]:
    """Return the pools of several nodes that a claim has devices of, ours only."""
    ours = (one for one in claim.results if one.device.driver == driver and is_of_many_nodes(one))
    return tuple(dict.fromkeys(one.device.pool for one in ours))


def gpus_here(
    result: AllocatedDevice, subject: str, pools: Pools, node: NodeDevices
) -> WholeGpu | GpuPartition:
    """Return the GPUs of this node.

    Raises: ClaimUnusable where the device has none here, or the pool does not know it; UnknownDevice;
            DeviceUnusable where the GPUs cannot be used whole, or not together.
    """
    nodes = pools.get(result.device.pool, {}).get(result.device.device)
    if nodes is None:
        reason = f"pool {result.device.pool} says of no device {result.device.device} which GPUs it has"
        raise UnknownDevice("prepare", subject, reason, "the user deletes the claim and makes it anew")
    here = node.pool.id.name
    if not nodes.get(here):
        reason = f"it has no GPU on node {here}, only on {', '.join(sorted(nodes))}"
        raise ClaimUnusable("prepare", subject, reason, f"{_POOL}, whose node selection admits {here}")
    found = [_whole(number, subject, node) for number in nodes[here]]
    return found[0] if len(found) == 1 else _together(found, subject, node)


def whole_gpus(gpus: Iterable[GpuUuid], node: NodeDevices) -> tuple[DeviceName, ...]:
    """Return the names under which the node knows GPUs, without those that are lost."""
    names = (node.by_hardware.get(frozenset({gpu})) for gpu in gpus)
    return tuple(name for name in names if name is not None)


def _whole(number: int, subject: str, node: NodeDevices) -> WholeGpu:
    found = node.by_name.get(gpu_name(number))
    if isinstance(found, WholeGpu):
        return found
    told = (one for one in node.left_out if one.startswith(f"{gpu_name(number)}: "))
    held = (str(one) for one in node.withheld if one.device == gpu_name(number))
    why = next(chain(told, held), f"this node does not offer GPU {number} as a whole")
    raise UnknownDevice("prepare", subject, why, _POOL)


def _together(gpus: list[WholeGpu], subject: str, node: NodeDevices) -> GpuPartition:
    """Return GPUs as one device. Where the fabric manager joins GPUs, it must have a partition of them."""
    members = tuple(one.gpu for one in gpus)
    known = node.by_hardware.get(frozenset(gpu.uuid for gpu in members))
    published = None if known is None else node.by_name[known]
    if isinstance(published, GpuPartition):
        return published
    if any(one.partition is not None for one in gpus):
        numbers = ", ".join(str(gpu.number) for gpu in members)
        reason = (
            f"the fabric manager has no partition of exactly GPUs {numbers}, or the node does not offer it"
        )
        raise DeviceUnusable("prepare", subject, reason, _POOL)
    return GpuPartition(members)
