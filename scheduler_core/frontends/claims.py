"""Annotated claims on a node: joint allocation and partitions for the requests of ResourceClaims.

What the annotations ask for is chosen here, the best first; each choice is put to the core's search, which
alone decides whether it fits, together with everything else that the claims ask for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scheduler_core.allocate import Cluster, allocate
from scheduler_core.answer import allocation
from scheduler_core.candidates import Candidate
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.choose import Refused, answers, refusal, short
from scheduler_core.frontends.demand import Demand, Partitioned, Wanted
from scheduler_core.frontends.errors import InvalidPod
from scheduler_core.frontends.exclusive import PCIE_ROOT
from scheduler_core.frontends.hints import JOINT, Joint, joint_of
from scheduler_core.frontends.node_units import NUMA_NODE
from scheduler_core.frontends.partition_table import SPEC, PartitionSpec, spec_of
from scheduler_core.frontends.place import NodeTable
from scheduler_core.frontends.reading import SCHEDULING
from scheduler_core.frontends.units import Take, Unit
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.device import AttributeValue, Device, QualifiedName
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Reason, Unallocatable
from scheduler_core.names import qualified
from scheduler_core.problem import problem_of
from scheduler_core.scopes import compared
from scheduler_core.search import Problem, Search, Slot, Want

_Pins = Mapping[int, Sequence[Candidate]]


@dataclass(frozen=True, slots=True)
class Marks:
    """What a claim's annotations say. Shape: the types of ``joint`` are names of its requests."""

    joint: Joint | None = None
    spec: PartitionSpec | None = None


@dataclass(frozen=True, slots=True)
class _Slots:
    """A demand, and which slots of the problem its types are. Shape: first type first."""

    demand: Demand
    slots: tuple[int, ...]


def marks_of(obj: Mapping[str, Any]) -> Marks:
    """Return what the annotations of a ResourceClaim say. Raises: InvalidPod."""
    subject = subject_of(obj, "ResourceClaim")
    fields = Fields(obj, subject, "", InvalidPod)
    annotations = fields.optional("metadata").optional("annotations")
    joint = spec = None
    if annotations.has(SCHEDULING + JOINT):
        requests = fields.child("spec").optional("devices").children("requests")
        names = tuple(one.text("name") for one in requests)
        joint = joint_of(subject, annotations.text(SCHEDULING + JOINT), names)
    if annotations.has(SCHEDULING + SPEC):
        spec = spec_of(subject, annotations.text(SCHEDULING + SPEC))
    return Marks(joint, spec)


def allocate_marked(
    claims: Sequence[Claim],
    marks: Mapping[ClaimRef, Marks],
    cluster: Cluster,
    node: Node,
    table: NodeTable | None = None,
) -> Allocation | Unallocatable:
    """Allocate claims together on one node, heeding their annotations and the node's partitions.

    Raises: as ``scheduler_core.allocate.allocate``.
    """
    plain = allocate(claims, cluster, node)
    if isinstance(plain, Unallocatable):
        return plain
    seen = tuple(sorted((pool.as_seen_from(node) for pool in cluster.pools), key=lambda pool: pool.id))
    ordered = replace(cluster, pools=seen)
    problem = problem_of(claims, ordered, node)
    demands = list(_demands(claims, marks, problem, table or NodeTable()))
    if not demands:
        return plain
    search = _settled(problem, demands, {})
    if search is not None:
        return allocation(claims, search.problem, search.chosen, cluster=ordered, node=node)
    return Unallocatable(node=node.name, reasons=tuple(_reasons(claims, problem, demands)))


def _settled(problem: Problem, demands: Sequence[_Slots], pins: _Pins) -> Search | None:
    """Return the first search that ends well, over every choice of every demand."""
    if not demands:
        search = Search(_pinned(problem, pins))
        return search if search.run() else None
    first, *rest = demands
    for units, cards in answers(first.demand):
        chosen = dict(pins)
        for slot, mine in zip(first.slots, (units, *cards), strict=True):
            candidates = problem.slots[slot].wants[0].candidates
            chosen[slot] = [candidates[unit.index] for unit in mine]
        found = _settled(problem, rest, chosen)
        if found is not None:
            return found
    return None


def _pinned(problem: Problem, pins: _Pins) -> Problem:
    """Return the problem with some requests tied to the devices that were chosen for them."""
    slots = []
    for number, slot in enumerate(problem.slots):
        mine = pins.get(number)
        if mine is not None:
            want = replace(slot.wants[0], count=len(mine), candidates=tuple(mine), kind=("pinned", number))
            slots.append(Slot(slot.claim, (want,)))
        else:
            slots.append(slot)
    return replace(problem, slots=tuple(slots))


def _demands(
    claims: Sequence[Claim],
    marks: Mapping[ClaimRef, Marks],
    problem: Problem,
    table: NodeTable,
) -> Iterator[_Slots]:
    for number, claim in enumerate(claims):
        mine = marks.get(claim.ref, Marks())
        slots = {
            slot.wants[0].name: index
            for index, slot in enumerate(problem.slots)
            if slot.claim == number and len(slot.wants) == 1 and not slot.wants[0].admin_access
        }
        names = mine.joint.types if mine.joint is not None else ()
        joined = [slots[name] for name in names if name in slots]
        if len(joined) > 1:
            yield _demand(joined, mine, problem, table)
        for slot in slots.values():
            alone = _demand([slot], mine, problem, table)
            if (slot not in joined or len(joined) < 2) and alone.demand.partitioned is not None:
                yield alone


def _demand(slots: Sequence[int], marks: Marks, problem: Problem, table: NodeTable) -> _Slots:
    wants = [problem.slots[slot].wants[0] for slot in slots]
    devices = [one.offer.device for want in wants for one in want.candidates]
    drivers = {one.offer.view.driver for want in wants for one in want.candidates}
    switches = tuple(qualified("pcieSwitch", driver) for driver in sorted(drivers))
    scope = compared((*switches, PCIE_ROOT), devices)
    first, *rest = (_wanted(want, problem, scope) for want in wants)
    has_minors = bool(first.units) and all(_minor(one) is not None for one in wants[0].candidates)
    is_binding = table.is_honored or marks.spec is not None
    partitioned = None
    if has_minors and (is_binding or table.table is not None):
        spec = marks.spec or PartitionSpec()
        partitioned = Partitioned(table=table.table, spec=spec, is_binding=is_binding)
    demand = Demand(
        first=first,
        together=tuple(replace(one, may_grow=one.count is not None) for one in rest),
        is_same_pcie=marks.joint is not None and marks.joint.is_same_pcie,
        partitioned=partitioned,
    )
    return _Slots(demand, tuple(slots))


def _wanted(want: Want, problem: Problem, scope: QualifiedName) -> Wanted:
    """Return a request's candidates as units. Shape: a unit's index is its place among the candidates."""
    units = []
    for place, one in enumerate(want.candidates):
        device = one.offer.device
        minor = _minor(one)
        take = Take(one.offer.pool, device.name, one.share)
        why = one.barred or problem.ledgers[one.offer.pool].obstacle(device.name, one.share)
        units.append(
            Unit(
                kind=want.name,
                number=place if minor is None else minor,
                pcie=device.attributes.get(scope),
                numa=_single(device, NUMA_NODE),
                is_touched=why is not None,
                takes=() if why is not None or one.error is not None else (take,),
                why=why or "",
                index=place,
            )
        )
    return Wanted(kind=want.name, units=tuple(units), count=want.count)


def _minor(candidate: Candidate) -> int | None:
    """Return the number by which a table of partitions names the device."""
    value = candidate.offer.device.attributes.get(qualified("minor", candidate.offer.view.driver))
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _single(device: Device, name: QualifiedName) -> AttributeValue | None:
    value = device.attributes.get(name)
    return value[0] if isinstance(value, tuple) else value


def _reasons(claims: Sequence[Claim], problem: Problem, demands: Sequence[_Slots]) -> Iterator[Reason]:
    """Yield why no choice went well, per demand."""
    for one in demands:
        found: Refused = short(one.demand) or refusal(one.demand)
        ref = claims[problem.slots[one.slots[0]].claim].ref
        yield Reason(ref, found.kind, found.cause, found.detail)
