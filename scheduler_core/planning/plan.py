"""The plan for a workload: how many copies each policy places, the room left, and what makes all of them fit.

The questions are asked of engines that the caller made, one for each policy, on states that know the same.
Everything that is held on trial is given back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TypedDict

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.planning.adding import AddingSearch, Additions
from scheduler_core.planning.ending_for_all import EndingForAll, ending_for_all
from scheduler_core.planning.freeing import Freeings, freeings
from scheduler_core.planning.kinds import DeviceKind
from scheduler_core.planning.node_kinds import Buyable, node_kinds
from scheduler_core.planning.room import ClusterRoom, copies, room_for
from scheduler_core.planning.trial_changes import TrialChanges
from scheduler_core.planning.workload import Placement, place
from scheduler_core.state.assignments import holder_of
from scheduler_core.state.cluster_state import ClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRoom:
    """How many more devices of a kind fit, if claims ask for nothing else."""

    kind: DeviceKind
    room: ClusterRoom


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOutcome:
    """What a policy makes of a workload.

    Shape: ``left`` is the room that remains, by kind of device; ``fragmentation`` from 0 to 1, None where the
           caller measures none.
    """

    placement: Placement
    left: tuple[KindRoom, ...]
    fragmentation: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPlan:
    """What to know before a workload is created.

    Shape: ``most`` how many copies fit if each has the best place; ``outcomes`` by policy; ``freeings`` what
           to end so that the first copy fits that did not, ``additions`` which nodes to add and ``ending``
           what to end so that all copies fit. These are None where all fit or nobody knows, the last one
           also where only one copy is missing.
    """

    most: ClusterRoom
    outcomes: Mapping[str, PolicyOutcome]
    freeings: Freeings | None = None
    additions: Additions | None = None
    ending: EndingForAll | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is to be placed. Shape: the claims of one copy are allocated together, on one node."""

    claims: Sequence[Claim]
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where a workload may go, and what is known of claims that hold devices there.

    Shape: ``fragmentation`` measures a state, None where nobody does; ``buyable`` nodes may be added.
    """

    nodes: Sequence[Node]
    buyable: Buyable = field(default_factory=Buyable)
    kinds: Sequence[DeviceKind] = ()
    specs: Mapping[ClaimRef, Claim] = field(default_factory=dict)
    fragmentation: Callable[[ClusterState], float] | None = None


def room_by_kind(engine: Engine, where: Where) -> tuple[KindRoom, ...]:
    """Return how many more devices of each kind fit. Raises: as ``Engine.allocate``."""
    return tuple(
        KindRoom(kind=kind, room=room_for(engine, [kind.claim(ClaimRef("plan", "devices"))], where.nodes))
        for kind in where.kinds
    )


def plan(engines: Mapping[str, Engine], workload: Workload, where: Where, policy: str) -> WorkloadPlan:
    """Return the plan for a workload; what to end and to add is asked under ``policy``.

    Raises: as ``Engine.allocate``.
    """
    engine = engines[policy]
    most = room_for(engine, workload.claims, where.nodes)
    outcomes = {name: _outcome(one, workload, where) for name, one in engines.items()}
    placement = outcomes[policy].placement
    if placement.placed == placement.asked or placement.undecided is not None:
        return WorkloadPlan(most=most, outcomes=outcomes)
    search = AddingSearch(
        engine, workload.claims, workload.count, where.nodes, most=most, placed=placement.placed
    )
    return WorkloadPlan(
        most=most,
        outcomes=outcomes,
        additions=search.run(node_kinds(engine.state, where.nodes, where.buyable)),
        **_endings(engine, workload, where, placement.placed),
    )


class _Endings(TypedDict):
    """What to end for one more copy and for all."""

    freeings: Freeings
    ending: EndingForAll | None


def _endings(engine: Engine, workload: Workload, where: Where, placed: int) -> _Endings:
    """Return what to end beside the copies that fit. These stay."""
    claims, nodes, missing = workload.claims, where.nodes, workload.count - placed
    with TrialChanges(engine.state) as trial:
        place(engine, trial, claims, placed, nodes)
        kept = {holder_of(one) for one in trial.held}
        more = copies(claims, placed + 1)
        found = freeings(engine, more, nodes, kept=kept, specs=where.specs)
        everything = None
        if missing > 1:
            everything = ending_for_all(
                engine, claims, missing, nodes, kept=kept, specs=where.specs, before=placed
            )
        return {"freeings": found, "ending": everything}


def _outcome(engine: Engine, workload: Workload, where: Where) -> PolicyOutcome:
    with TrialChanges(engine.state) as trial:
        placement = place(engine, trial, workload.claims, workload.count, where.nodes)
        measured = None if where.fragmentation is None else where.fragmentation(engine.state)
        return PolicyOutcome(placement=placement, left=room_by_kind(engine, where), fragmentation=measured)
