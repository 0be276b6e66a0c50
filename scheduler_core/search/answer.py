"""Turns an assignment into the allocation of each claim: results, configuration, node selector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_core.model.claim import (
    AllocatedDevice,
    Claim,
    ClaimRef,
    DeviceClass,
    DeviceRequest,
    OpaqueConfig,
)
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId
from scheduler_core.model.names import bare
from scheduler_core.model.nodes import AllNodes, Matching, Node, NodeSelection, OnNode, Requirement
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation
from scheduler_core.search.candidates import Candidate
from scheduler_core.search.depth_first import Problem, SearchAlternative

Chosen = Sequence[tuple[SearchAlternative, Sequence[Candidate]]]
ShareIds = Callable[[], str]


def allocation(
    claims: Sequence[Claim],
    problem: Problem,
    chosen: Chosen,
    *,
    cluster: Cluster,
    node: Node,
    share_ids: ShareIds | None = None,
) -> Allocation:
    """Return the answer for an assignment: per claim its devices in request order."""
    results: dict[ClaimRef, list[AllocatedDevice]] = {claim.ref: [] for claim in claims}
    selections: dict[ClaimRef, list[NodeSelection]] = {claim.ref: [] for claim in claims}
    options = {
        (index, option.name): option
        for index, claim in enumerate(claims)
        for request in claim.requests
        for option in request.alternatives
    }
    for request, (alternative, candidates) in zip(problem.requests, chosen, strict=True):
        ref, option = claims[request.claim].ref, options[request.claim, alternative.name]
        for candidate in candidates:
            pool = cluster.pools[candidate.offer.pool]
            results[ref].append(_result(option, candidate, pool, share_ids))
            selections[ref].append(_selection(candidate, node))
    names: dict[ClaimRef, list[str]] = {claim.ref: [] for claim in claims}
    for request, (alternative, _) in zip(problem.requests, chosen, strict=True):
        names[claims[request.claim].ref].append(alternative.name)
    return Allocation(
        node=node.name,
        results={ref: tuple(devices) for ref, devices in results.items()},
        nodes={ref: combined(selection, node) for ref, selection in selections.items()},
        configs={claim.ref: tuple(configs(claim, cluster.classes, names[claim.ref])) for claim in claims},
    )


def _result(
    option: DeviceRequest, candidate: Candidate, pool: Pool, share_ids: ShareIds | None
) -> AllocatedDevice:
    device, driver = candidate.offer.device, pool.id.driver
    return AllocatedDevice(
        option.name,
        DeviceId(driver, pool.id.name, device.name),
        admin_access=option.admin_access,
        share_id=share_ids() if candidate.share is not None and share_ids is not None else None,
        consumed={bare(name, driver): amount for name, amount in (candidate.share or {}).items()},
        tolerations=option.tolerations,
        binding=device.binding,
        skipped_operations=device.skipped_operations,
    )


def with_share_ids(answer: Allocation, pools: Iterable[Pool], share_ids: ShareIds) -> Allocation:
    """Return the answer with an id for every share of a shareable device.

    ``share_ids`` is called once per share, in the order of the results. The core makes no ids, because it
    uses no random numbers: the caller decides which ids to use. Admin access has no share.
    """
    shareable = {pool.id_of(device) for pool in pools for device in pool.devices if device.is_shareable}
    if not shareable:
        return answer
    results = {
        ref: tuple(
            replace(one, share_id=share_ids()) if one.device in shareable and not one.admin_access else one
            for one in given
        )
        for ref, given in answer.results.items()
    }
    return replace(answer, results=results)


def _selection(candidate: Candidate, node: Node) -> NodeSelection:
    """Return on which nodes the device can be used. One that binds to a node can be used only there."""
    device = candidate.offer.device
    return OnNode(node.name) if device.binding.to_node else device.nodes


def combined(selections: Sequence[NodeSelection], node: Node) -> NodeSelection:
    """Return on which nodes several devices can be used together, once allocated on ``node`` (rule S8).

    If one of them belongs to one node, that node; otherwise all requirements, each listed once.
    """
    requirements: dict[Requirement, None] = {}
    for selection in selections:
        match selection:
            case OnNode():
                return OnNode(node.name)
            case Matching(requirements=more):
                requirements |= dict.fromkeys(more)
            case AllNodes():
                pass
    return Matching(tuple(requirements)) if requirements else AllNodes()


def configs(
    claim: Claim, classes: Mapping[str, DeviceClass], chosen: Iterable[str]
) -> Iterator[OpaqueConfig]:
    """Yield the configuration of the devices: that of their classes first, each once.

    Shape: ``requests`` is empty where it applies to all requests of the claim.
    """
    names = list(dict.fromkeys(chosen))
    by_class: dict[str, list[str]] = {}
    for request in claim.requests:
        for option in request.alternatives:
            if option.name in names:
                by_class.setdefault(option.class_name, []).append(option.name)
    for class_name, requests in by_class.items():
        covered = () if len(requests) == len(names) else tuple(requests)
        for config in classes[class_name].configs:
            yield replace(config, requests=covered, from_class=True)
    for config in claim.configs:
        concerned = [name for name in names if config.concerns(name)]
        if concerned:
            yield replace(config, requests=() if len(concerned) == len(names) else config.requests)
