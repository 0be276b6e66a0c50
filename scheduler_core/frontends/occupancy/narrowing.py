"""Narrows an occupancy to some nodes, to some drivers, or to what the claims of one namespace hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from scheduler_core.frontends.occupancy.room import total
from scheduler_core.frontends.occupancy.totals import added, namespace_totals
from scheduler_core.frontends.occupancy.values import ClusterOccupancy, DeviceUse, NicFunction, NodeOccupancy


def on_nodes(found: ClusterOccupancy, names: Collection[str]) -> ClusterOccupancy:
    """Return the occupancy of some nodes alone; holders are those with a device there."""
    nodes = tuple(one for one in found.nodes if one.name in names)
    claims = {use.claim for node in nodes for use in uses_of(node)}
    holders = tuple(one for one in found.holders if one.claim in claims)
    return ClusterOccupancy(
        nodes=nodes,
        holders=holders,
        namespaces=namespace_totals(nodes, holders),
        free=added(one for node in nodes for one in node.free),
        room=total([node.room for node in nodes if node.room is not None]),
    )


def of_drivers(found: ClusterOccupancy, drivers: Collection[str]) -> ClusterOccupancy:
    """Return the devices of some drivers alone, and the nodes and holders that have one."""
    nodes = []
    for node in found.nodes:
        gpus = tuple(one for one in node.gpus if one.pool.driver in drivers)
        mine = replace(
            node,
            gpus=gpus,
            nics=tuple(one for one in node.nics if one.pool.driver in drivers),
            others=tuple(one for one in node.others if one.pool.driver in drivers),
            free=added(one for gpu in gpus for one in gpu.free),
            room=total([gpu.room for gpu in gpus if gpu.room is not None]),
        )
        if mine.drivers or node.problems:
            nodes.append(mine)
    return on_nodes(replace(found, nodes=tuple(nodes)), {one.name for one in nodes})


def of_namespace(found: ClusterOccupancy, namespace: str) -> ClusterOccupancy:
    """Return only the nodes and devices of which a claim of the namespace holds something.

    What is left of them is whole: also what others hold of it, and what is free on the node.
    """
    nodes = []
    for node in found.nodes:
        mine = replace(
            node,
            gpus=tuple(one for one in node.gpus if _is_held(one.uses, namespace)),
            nics=tuple(one for one in node.nics if _is_held(one.uses, namespace)),
            others=tuple(one for one in node.others if _is_held(one.uses, namespace)),
        )
        if mine.gpus or mine.nics or mine.others:
            nodes.append(mine)
    return replace(
        found,
        nodes=tuple(nodes),
        holders=tuple(one for one in found.holders if one.claim.namespace == namespace),
        namespaces=tuple(one for one in found.namespaces if one.namespace == namespace),
    )


def uses_of(node: NodeOccupancy) -> Iterable[DeviceUse]:
    """Return what claims have of a node: GPUs, then NICs, then other devices."""
    for parts in (node.gpus, node.nics, node.others):
        for one in parts:
            yield from one.uses


def functions_of(node: NodeOccupancy) -> Iterable[NicFunction]:
    """Return the NICs that are offered as a whole and their VFs."""
    for nic in node.nics:
        yield from ((nic.whole,) if nic.whole is not None else ())
        yield from nic.vfs


def _is_held(uses: Iterable[DeviceUse], namespace: str) -> bool:
    return any(one.claim.namespace == namespace for one in uses)
