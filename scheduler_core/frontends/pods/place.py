"""Places an annotated pod among the devices of a node: those that it gets, or why it gets none.

A pod gets all its devices or none. Nothing is held: the caller enters the answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from scheduler_core.base.effort import DECISION, Effort, EffortExceeded
from scheduler_core.frontends.joint.choose import JointRefusal, choose
from scheduler_core.frontends.joint.closeness import DEVICE, MACHINE, NUMA_NODE, SWITCH
from scheduler_core.frontends.joint.demand import JointDemand, Partitioned, Wanted
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.partitions.table import PartitionSpec
from scheduler_core.frontends.pods.exclusive import exclusive_of
from scheduler_core.frontends.pods.hints import GPU, Strategy, TopologyScope
from scheduler_core.frontends.pods.node_devices import NodeDevices
from scheduler_core.frontends.pods.placed_pod import PlacedPod, pod_uid
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Cause, Undecided
from scheduler_core.state.places import Trial

_DEPTHS: Final = {
    TopologyScope.DEVICE: DEVICE,
    TopologyScope.PCIE: SWITCH,
    TopologyScope.NUMA: NUMA_NODE,
    TopologyScope.NODE: MACHINE,
}


PodResult = PlacedPod | JointRefusal | Undecided
"""What became of a pod on one node."""


def placed(ask: PodAsk, node: Node, offered: NodeDevices, table: NodeTable) -> PodResult:
    """Return the best devices of a pod among those of a node, or why there are none."""
    if table.problem and GPU in ask.asks:
        # Without the table it is unknown which GPUs may be allocated together, and whether it is binding:
        # a node that forbids some sets of GPUs would offer them all.
        return JointRefusal(GPU, Cause.NO_MATCHING_DEVICE, f"the GPUs are withheld: {table.problem}")
    try:
        found = choose(_demand(ask, offered, table), Trial(ask.subject), Effort(most=DECISION))
    except EffortExceeded as exceeded:
        why = "there are too many ways to spread the devices over PCIe scopes"
        return Undecided(node=node.name, steps=int(exceeded.limit), why=why)
    if isinstance(found, JointRefusal):
        return found
    node_devices = {kind: tuple(sorted(found[kind], key=lambda one: one.number)) for kind in ask.asks}
    devices = {
        kind: tuple(tuple(one.device for one in node_device.takes) for node_device in mine)
        for kind, mine in node_devices.items()
    }
    return PlacedPod(node=node.name, node_devices=node_devices, devices=devices)


def entered(ask: PodAsk, placed: PlacedPod, ref: ClaimRef) -> AllocatedClaim:
    """Return the claim of a placed pod: its devices and exclusive scopes. ``ref`` names the pod."""
    results = []
    for kind, node_devices in placed.node_devices.items():
        for node_device, devices in zip(node_devices, placed.devices[kind], strict=True):
            for take, device in zip(node_device.takes, devices, strict=True):
                share_id = f"{ref}" if take.share is not None else None
                consumed = {str(name): amount for name, amount in (take.share or {}).items()}
                results.append(AllocatedDevice(kind, device, share_id=share_id, consumed=consumed))
    drivers = {result.device.driver for result in results}
    exclusive = tuple(
        exclusive_of(kind, policy, driver)
        for kind in placed.node_devices
        for driver in sorted(drivers)
        if (policy := ask.hint(kind).exclusive) is not None
    )
    return AllocatedClaim(ref=ref, uid=pod_uid(ref), results=tuple(results), exclusive=exclusive)


def _demand(ask: PodAsk, offered: NodeDevices, node: NodeTable) -> JointDemand:
    """Return the demand of a pod.

    Among types that are chosen together GPUs come first, whatever the order in the annotation, and cards are
    chosen near them. A type of which all devices are taken is not chosen together with others.
    """
    wanted = {kind: _wanted(kind, ask, offered) for kind in ask.asks}
    named = ask.joint.types if ask.joint is not None else ()
    joined = [kind for kind in named if kind in wanted and not _takes_all(ask, kind)]
    joined.sort(key=lambda kind: kind != GPU)
    if len(joined) < 2:
        joined = []
    first = joined[0] if joined else (GPU if GPU in wanted else None)
    together = tuple(replace(wanted[kind], may_grow=not ask.asks[kind].is_exact) for kind in joined[1:])
    rest = [kind for kind in wanted if kind != first and kind not in joined]
    return JointDemand(
        first=wanted[first] if first is not None else None,
        together=together,
        apart=tuple(wanted[kind] for kind in rest),
        is_same_pcie=bool(together) and ask.joint is not None and ask.joint.is_same_pcie,
        partitioned=_partitioned(ask, node, wanted[GPU], offered) if first == GPU else None,
    )


def _takes_all(ask: PodAsk, kind: str) -> bool:
    return kind != GPU and ask.hint(kind).strategy is Strategy.APPLY_FOR_ALL


def _wanted(kind: str, ask: PodAsk, offered: NodeDevices) -> Wanted:
    hint = ask.hint(kind)
    node_devices, others = offered.of_kind(kind, ask.asks[kind], hint)
    return Wanted(
        kind=kind,
        devices=node_devices,
        others=others,
        count=ask.asks[kind].count,
        deepest=_DEPTHS[hint.scope] if hint.scope is not None else MACHINE,
    )


def _partitioned(ask: PodAsk, node: NodeTable, gpus: Wanted, offered: NodeDevices) -> Partitioned | None:
    """Return the demand for partitions. Parts of GPUs never come from the table.

    The table of the Node counts before the one that the node's devices are.
    """
    if ask.asks[GPU].is_shared:
        return None
    linked = offered.linked((gpus.devices, gpus.others), ask.hint(GPU))
    table = node.table if node.table is not None else offered.table
    is_binding = node.is_honored or ask.spec is not None
    if table is None and not is_binding:
        return None
    return Partitioned(table=table, spec=ask.spec or PartitionSpec(), is_binding=is_binding, linked=linked)
