"""Adds up: free places of several GPUs, and what the claims of each namespace hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.occupancy.gpus import order_of
from scheduler_core.frontends.occupancy.reading import WHOLE
from scheduler_core.frontends.occupancy.values import (
    Availability,
    FreePlaces,
    Holder,
    Mode,
    NamespaceTotal,
    NodeOccupancy,
)
from scheduler_core.model.claim import AllocatedClaim, ClaimRef


def added(places: Iterable[FreePlaces]) -> tuple[FreePlaces, ...]:
    """Return free places added up by profile. Shape: the largest first."""
    found: dict[tuple[str, int], FreePlaces] = {}
    for one in places:
        known = found.get((one.what, one.memory_slices))
        found[one.what, one.memory_slices] = FreePlaces(
            what=one.what,
            places=one.places + (known.places if known else 0),
            fits=one.fits + (known.fits if known else 0),
            memory_slices=one.memory_slices,
            memory=one.memory,
        )
    return tuple(sorted(found.values(), key=order_of))


def holders_of(
    claims: Iterable[AllocatedClaim], pods: Mapping[ClaimRef, tuple[str, ...]]
) -> tuple[Holder, ...]:
    """Return the claims that hold devices, by namespace and name. Admin access holds nothing."""
    found = [
        Holder(
            claim=claim.ref,
            pods=pods.get(claim.ref, ()),
            devices=sum(not one.admin_access for one in claim.results),
        )
        for claim in claims
    ]
    return tuple(
        sorted((one for one in found if one.devices), key=lambda one: (one.claim.namespace, one.claim.name))
    )


def namespace_totals(nodes: Iterable[NodeOccupancy], holders: Iterable[Holder]) -> tuple[NamespaceTotal, ...]:
    """Return what the claims of each namespace hold, by name."""
    counts: dict[str, dict[str, int]] = {}
    for holder in holders:
        _count(counts, holder.claim.namespace, "claims")
    for node in nodes:
        _count_gpus(counts, node)
        for nic in node.nics:
            for kind, functions in (("nics", (nic.whole,)), ("vfs", nic.vfs)):
                for one in functions:
                    for namespace in {ref.namespace for ref in one.holders} if one else ():
                        _count(counts, namespace, kind)
        for other in node.others:
            for namespace, _ in {(use.claim.namespace, use.device) for use in other.uses}:
                _count(counts, namespace, "others")
    return tuple(
        NamespaceTotal(
            namespace=name,
            memory=Quantity(found.pop("memory", 0), "i"),
            **found,
        )
        for name, found in sorted(counts.items())
    )


def _count_gpus(counts: dict[str, dict[str, int]], node: NodeOccupancy) -> None:
    for gpu in node.gpus:
        is_partition = Mode.PARTITION in gpu.modes
        for namespace in {use.claim.namespace for use in gpu.uses if use.what == WHOLE or is_partition}:
            _count(counts, namespace, "gpus")
        for one in gpu.memory_slices:
            if one.state is Availability.HELD:
                for namespace in {ref.namespace for ref in one.holders}:
                    _count(counts, namespace, "memory_slices")
        seen: set[tuple[str, str]] = set()
        for use in gpu.uses:
            namespace = use.claim.namespace
            if use.is_share:
                _count(counts, namespace, "shares")
            if use.is_share or (namespace, use.device) not in seen:
                memory = gpu.memory if is_partition and use.memory is None else use.memory
                _count(counts, namespace, "memory", memory.nano if memory else 0)
            seen.add((namespace, use.device))


def _count(counts: dict[str, dict[str, int]], namespace: str, what: str, amount: int = 1) -> None:
    mine = counts.setdefault(namespace, {})
    mine[what] = mine.get(what, 0) + amount
