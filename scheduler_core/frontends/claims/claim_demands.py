"""The demands of annotated claims: which requests are chosen together.

For each group of requests there is one demand, whose node devices are the devices that the requests match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.request_devices import RequestDevice, RequestDevices
from scheduler_core.frontends.joint.demand import JointDemand, Partitioned, Wanted
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.partitions.table import PartitionSpec
from scheduler_core.frontends.pods.hints import Joint
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.places import NUMA_NODE, PCIE_ROOT, SWITCH, SWITCH_PATH, switch_levels
from scheduler_core.rules.scopes import Scope


@dataclass(frozen=True, slots=True)
class Marks:
    """The annotations of a claim. Shape: the types of ``joint`` are names of its requests."""

    joint: Joint | None = None
    spec: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class SlotDemand:
    """A demand, and the numbers of its types among all requests. Shape: the first type first."""

    demand: JointDemand
    requests: tuple[int, ...]


def slot_demands(
    claims: Sequence[Claim],
    marks: Mapping[ClaimRef, Marks],
    requests: Sequence[RequestDevices],
    table: NodeTable,
) -> Iterator[SlotDemand]:
    """Yield the demands of the claims, in order. Requests with alternatives are left out."""
    for number, claim in enumerate(claims):
        mine = marks.get(claim.ref, Marks())
        numbers = {
            one.name: index for index, one in enumerate(requests) if one.claim == number and one.is_plain
        }
        names = mine.joint.types if mine.joint is not None else ()
        joined = [numbers[name] for name in names if name in numbers]
        if len(joined) > 1:
            yield _demand(joined, mine, requests, table)
        for request in numbers.values():
            alone = _demand([request], mine, requests, table)
            if (request not in joined or len(joined) < 2) and alone.demand.partitioned is not None:
                yield alone


def _demand(
    numbers: Sequence[int], marks: Marks, requests: Sequence[RequestDevices], table: NodeTable
) -> SlotDemand:
    mine = [requests[number] for number in numbers]
    scope = _compared(mine)
    first, *rest = (_wanted(one, scope) for one in mine)
    has_minors = bool(first.devices) and all(_minor(one) is not None for one in mine[0].devices)
    is_binding = table.is_honored or marks.spec is not None
    partitioned = None
    if has_minors and (is_binding or table.table is not None):
        spec = marks.spec or PartitionSpec()
        partitioned = Partitioned(table=table.table, spec=spec, is_binding=is_binding)
    demand = JointDemand(
        first=first,
        together=tuple(replace(one, may_grow=one.count is not None) for one in rest),
        is_same_pcie=marks.joint is not None and marks.joint.is_same_pcie,
        partitioned=partitioned,
    )
    return SlotDemand(demand, tuple(numbers))


def switches_of(requests: Sequence[RequestDevices]) -> tuple[QualifiedName, ...]:
    """Return the attributes that "same PCIe" compares, the preferred one first."""
    drivers = {one.id.driver for request in requests for one in request.devices}
    return (*(qualified(SWITCH, driver) for driver in sorted(drivers)), PCIE_ROOT)


def _compared(requests: Sequence[RequestDevices]) -> QualifiedName:
    """Return the first attribute that all matched devices have, the last one where there is none."""
    scopes = switches_of(requests)
    devices = [one for request in requests for one in request.devices]
    found = (scope for scope in scopes if all(one.value(scope) is not None for one in devices))
    return next(found, scopes[-1])


def _wanted(request: RequestDevices, scope: QualifiedName) -> Wanted:
    """Return a request's devices as node devices. Shape: ``index`` is that of the device in the request."""
    node_devices = []
    for place, one in enumerate(request.devices):
        minor = _minor(one)
        node_devices.append(
            NodeDevice(
                kind=request.name,
                number=place if minor is None else minor,
                pcie=one.value(scope),
                switches=switch_levels(
                    one.value(qualified(SWITCH_PATH, one.id.driver)),
                    one.value(qualified(SWITCH, one.id.driver)),
                ),
                numa=_numa(one),
                is_touched=not one.is_free and not one.fails,
                is_free=one.is_free,
                why=one.why,
                index=place,
            )
        )
    return Wanted(kind=request.name, devices=tuple(node_devices), count=request.count)


def _minor(device: RequestDevice) -> int | None:
    """Return the number of the device in tables of partitions."""
    value = device.value(qualified("minor", device.id.driver))
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _numa(device: RequestDevice) -> Scope | None:
    value = device.value(NUMA_NODE)
    return value[0] if isinstance(value, tuple) else value
