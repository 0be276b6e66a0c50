"""Who could give a claim of a cluster devices: kube-scheduler, or the controller on the nodes that it has.

Takes the claim's question as kube-scheduler sees it; returns the question of whoever gives devices, or of
both where neither does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from scheduler_core.base.errors import CoreError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.nodes import Node, OnNode
from scheduler_core.model.ownership import CONTROLLER, OWNER
from scheduler_core.model.pool import Pool
from scheduler_core.planning.offered import as_owner_sees
from scheduler_core.state.cluster_state import ClusterState
from tangram.allocation_input import AllocationInput
from tangram.explaining.claim_users import ClaimUsers
from tangram.pictures.advice.funnel import node_names
from tangram.pictures.counted import counted
from tangram.policies import BEST_FIT, FIRST_FIT, POLICIES

SCHEDULER: Final = "kube-scheduler"
BOTH: Final = "both"
_SAID: Final = {
    SCHEDULER: "This is kube-scheduler's answer.",
    CONTROLLER: "This is the controller's answer.",
    BOTH: "Devices were found for neither.",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """A question about a claim, and the allocator that answers it.

    Shape: ``policy`` is that of the allocator; ``note`` says who allocates where, empty where only
           kube-scheduler does; ``value`` is the same for programs.
    """

    asked: AllocationInput
    policy: str
    note: str = ""
    value: Mapping[str, object] = field(default_factory=dict)


def turn_of(asked: AllocationInput, users: ClaimUsers) -> Turn:
    """Return the question of kube-scheduler if it finds devices, else of the controller, else of both."""
    owned = _controllers_nodes(asked)
    if not owned:
        return Turn(asked, FIRST_FIT)
    pods = [str(one.ref) for one in users.pods]
    value = {"controllerNodes": [one.name for one in owned], "waitingPods": pods}
    seen = _as_owners_see(asked, owned)
    if _fits(asked, FIRST_FIT):
        by, turn = SCHEDULER, Turn(asked, FIRST_FIT)
    elif _fits(own := replace(seen, nodes=owned), BEST_FIT):
        by, turn = CONTROLLER, Turn(own, BEST_FIT)
    else:
        by, turn = BOTH, Turn(seen, FIRST_FIT)
    note = f"{_who(owned, asked.nodes)} {_SAID[by]} {_whose(users)}"
    return replace(turn, note=note, value={**value, "answerOf": by})


def _controllers_nodes(asked: AllocationInput) -> tuple[Node, ...]:
    """Return the nodes whose devices only the controller allocates: by their label, and by the taint."""
    marked = (pool for pool in asked.cluster.pools if as_owner_sees(pool) is not pool)
    names = {name for pool in marked for name in _nodes_of(pool)}
    return tuple(node for node in asked.nodes if node.name in names and node.labels.get(OWNER) == CONTROLLER)


def _as_owners_see(asked: AllocationInput, owned: Sequence[Node]) -> AllocationInput:
    """Return a question without the taint that keeps kube-scheduler off the devices of these nodes."""
    names = {node.name for node in owned}
    pools = (as_owner_sees(one) if names & _nodes_of(one) else one for one in asked.cluster.pools)
    cluster = replace(asked.cluster, pools=tuple(pools))
    return replace(asked, cluster=cluster, state=ClusterState.of(cluster))


def _nodes_of(pool: Pool) -> set[str]:
    """Return the nodes that slices of a pool name."""
    return {one.name for one in pool.seen_from if isinstance(one, OnNode)}


def _fits(asked: AllocationInput, policy: str) -> bool:
    engine = Engine(asked.state, POLICIES[policy])
    try:
        return any(engine.fits(asked.objects.claims, node) is True for node in asked.nodes)
    except CoreError:
        return False  # it is told when the question is asked


def _who(owned: Sequence[Node], nodes: Sequence[Node]) -> str:
    if len(owned) == len(nodes):
        return "The controller allocates the devices of all nodes asked about."
    names = node_names([one.name for one in owned])
    count = counted(len(owned), "node")
    return f"The controller allocates the devices of {count} ({names}), kube-scheduler those of the others."


def _whose(users: ClaimUsers) -> str:
    if users.unknown:
        return f"Which pods use the claim is not known: {users.unknown}"
    if not users.pods:
        return "No pod waits with this claim; without one nobody allocates it."
    pod = users.pods[0].ref
    return f"For all claims of its pod: tangram explain pod/{pod.name} -n {pod.namespace}"
