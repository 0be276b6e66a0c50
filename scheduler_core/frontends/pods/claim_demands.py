"""The demands of annotated claims: which requests of a problem are chosen together.

A problem and the annotations enter. Per group of requests a demand leaves, whose node devices are the
candidates of the requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scheduler_core.frontends.joint.demand import JointDemand, Partitioned, Wanted
from scheduler_core.frontends.joint.node_device import NodeDevice, Take
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.partitions.table import PartitionSpec
from scheduler_core.frontends.pods.exclusive import PCIE_ROOT
from scheduler_core.frontends.pods.hints import Joint
from scheduler_core.frontends.pods.node_devices import NUMA_NODE
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.device import AttributeValue, Device, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.rules.scopes import compared
from scheduler_core.search.candidates import Candidate
from scheduler_core.search.depth_first import Problem, SearchAlternative, SearchRequest

Pins = Mapping[int, Sequence[Candidate]]
"""The chosen candidates of some requests, by the index of the request in the problem."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The annotations of a claim. Shape: the types of ``joint`` are names of its requests."""

    joint: Joint | None = None
    spec: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class SlotDemand:
    """A demand, and the indexes of its types among the problem's requests. Shape: the first type first."""

    demand: JointDemand
    requests: tuple[int, ...]


def slot_demands(
    claims: Sequence[Claim],
    marks: Mapping[ClaimRef, Marks],
    problem: Problem,
    table: NodeTable,
) -> Iterator[SlotDemand]:
    """Yield the demands of the claims, in order. Requests with alternatives are left out."""
    for number, claim in enumerate(claims):
        mine = marks.get(claim.ref, Marks())
        requests = {
            request.alternatives[0].name: index
            for index, request in enumerate(problem.requests)
            if request.claim == number
            and len(request.alternatives) == 1
            and not request.alternatives[0].admin_access
        }
        names = mine.joint.types if mine.joint is not None else ()
        joined = [requests[name] for name in names if name in requests]
        if len(joined) > 1:
            yield _demand(joined, mine, problem, table)
        for request in requests.values():
            alone = _demand([request], mine, problem, table)
            if (request not in joined or len(joined) < 2) and alone.demand.partitioned is not None:
                yield alone


def pinned(problem: Problem, pins: Pins) -> Problem:
    """Return the problem with the candidates of some requests reduced to the chosen ones."""
    requests = []
    for number, request in enumerate(problem.requests):
        mine = pins.get(number)
        if mine is not None:
            alternative = replace(
                request.alternatives[0], count=len(mine), candidates=tuple(mine), kind=("pinned", number)
            )
            requests.append(SearchRequest(request.claim, (alternative,)))
        else:
            requests.append(request)
    return replace(problem, requests=tuple(requests))


def _demand(requests: Sequence[int], marks: Marks, problem: Problem, table: NodeTable) -> SlotDemand:
    alternatives = [problem.requests[request].alternatives[0] for request in requests]
    devices = [one.offer.device for alternative in alternatives for one in alternative.candidates]
    scope = compared(switches_of(alternatives), devices)
    first, *rest = (_wanted(alternative, problem, scope) for alternative in alternatives)
    has_minors = bool(first.devices) and all(_minor(one) is not None for one in alternatives[0].candidates)
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
    return SlotDemand(demand, tuple(requests))


def switches_of(alternatives: Sequence[SearchAlternative]) -> tuple[QualifiedName, ...]:
    """Return the attributes that "same PCIe" compares, the finest first."""
    drivers = {one.offer.view.driver for alternative in alternatives for one in alternative.candidates}
    return (*(qualified("pcieSwitch", driver) for driver in sorted(drivers)), PCIE_ROOT)


def _wanted(alternative: SearchAlternative, problem: Problem, scope: QualifiedName) -> Wanted:
    """Return a request's candidates as node devices. Shape: ``index`` is that of the candidate."""
    node_devices = []
    for place, one in enumerate(alternative.candidates):
        device = one.offer.device
        minor = _minor(one)
        take = Take(one.offer.pool, device.name, one.share)
        found = one.obstacle or problem.ledgers[one.offer.pool].obstacle(device.name, one.share)
        why = None if found is None else obstacle_text(found)
        node_devices.append(
            NodeDevice(
                kind=alternative.name,
                number=place if minor is None else minor,
                pcie=device.attributes.get(scope),
                numa=_single(device, NUMA_NODE),
                is_touched=why is not None,
                takes=() if why is not None or one.error is not None else (take,),
                why=why or "",
                index=place,
            )
        )
    return Wanted(kind=alternative.name, devices=tuple(node_devices), count=alternative.count)


def _minor(candidate: Candidate) -> int | None:
    """Return the number of the device in tables of partitions."""
    value = candidate.offer.device.attributes.get(qualified("minor", candidate.offer.view.driver))
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _single(device: Device, name: QualifiedName) -> AttributeValue | None:
    value = device.attributes.get(name)
    return value[0] if isinstance(value, tuple) else value
