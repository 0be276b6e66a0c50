"""PURE: claims that hold devices for nobody, and deleted objects that a finalizer keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.claims import FINALIZER as OF_CLAIMS
from scheduler_core.frontends.multi_node.pool_object import FINALIZER as OF_POOLS
from scheduler_core.model.ownership import MULTI_NODE
from tangram.doctor import kinds
from tangram.doctor.cluster.facts import ClusterFacts, Document, full_name, name_of, part, ref_of
from tangram.doctor.finding import Finding, RemoveFinalizer

_PATIENCE_S: Final = 30.0
"""How long an object may be without what the control plane takes away by itself. Units: seconds."""


def claim_findings(facts: ClusterFacts) -> Iterator[Finding]:
    """Yield what is wrong with claims that have devices of the driver, and with deleted objects."""
    pods = {(one["metadata"]["namespace"], name_of(one)): one["metadata"]["uid"] for one in facts.pods}
    for claim in facts.claims:
        if facts.results(claim):
            yield from _of_allocated(facts, claim, pods)
        elif not part(claim, "status", "allocation"):
            yield from _of_deleted_claim(facts, claim)
    yield from _of_deleted_pools(facts)


def _of_allocated(
    facts: ClusterFacts, claim: Document, pods: dict[tuple[str, str], str]
) -> Iterator[Finding]:
    users = part(claim, "status").get("reservedFor") or ()
    namespace, name = claim["metadata"]["namespace"], name_of(claim)
    devices = ", ".join(f"{one['device']} of {one['pool']}" for one in facts.results(claim))
    show = f"kubectl --namespace {namespace} get resourceclaim {name} --output yaml"
    for user in users:
        is_pod = user.get("resource") == "pods" and not user.get("apiGroup")
        if is_pod and pods.get((namespace, user["name"])) != user.get("uid"):
            yield Finding(
                kind=kinds.CLAIM_OF_GONE_POD,
                object=full_name(claim),
                problem=f"claim {full_name(claim)} has {devices}, for pod {user['name']}, which is gone",
                remedies=(show, "kubectl --namespace kube-system get pods --selector tier=control-plane"),
            )
            return
    since = str(part(claim, "status", "allocation").get("allocationTimestamp") or "")
    if not users and (not since or facts.age_s(since) > _PATIENCE_S):
        yield Finding(
            kind=kinds.CLAIM_FOR_NOBODY,
            object=full_name(claim),
            problem=f"claim {full_name(claim)} has {devices}, and is reserved for nobody",
            since=since,
            remedies=(show, f"kubectl --namespace {namespace} delete resourceclaim {name}"),
        )


def _of_deleted_claim(facts: ClusterFacts, claim: Document) -> Iterator[Finding]:
    finalizers = tuple(claim["metadata"].get("finalizers") or ())
    since = str(claim["metadata"].get("deletionTimestamp") or "")
    is_used = bool(part(claim, "status").get("reservedFor"))
    if is_used or OF_CLAIMS not in finalizers or facts.age_s(since) <= _PATIENCE_S:
        return
    yield Finding(
        kind=kinds.FINALIZER_WITHOUT_OWNER,
        object=f"claim/{full_name(claim)}",
        problem=f"claim {full_name(claim)} is deleted and has no device, and finalizer {OF_CLAIMS} keeps it",
        since=since,
        remedies=("kubectl --namespace kube-system get pods --selector tier=control-plane",),
        fix=RemoveFinalizer(ref_of(claim, "ResourceClaim"), OF_CLAIMS, _without(finalizers, OF_CLAIMS)),
    )


def _of_deleted_pools(facts: ClusterFacts) -> Iterator[Finding]:
    used = {one["pool"] for claim in facts.claims for one in _all_results(claim)}
    for pool in facts.multi_node_pools or ():
        finalizers = tuple(pool["metadata"].get("finalizers") or ())
        since = str(pool["metadata"].get("deletionTimestamp") or "")
        is_used = f"{MULTI_NODE}{name_of(pool)}" in used
        if is_used or OF_POOLS not in finalizers or facts.age_s(since) <= _PATIENCE_S:
            continue
        problem = f"MultiNodePool {name_of(pool)} is deleted and no claim has a device of it"
        yield Finding(
            kind=kinds.FINALIZER_WITHOUT_OWNER,
            object=f"pool/{name_of(pool)}",
            problem=f"{problem}, and finalizer {OF_POOLS} keeps it",
            since=since,
            remedies=("kubectl --namespace tangram-system get deployment tangram-controller",),
            fix=RemoveFinalizer(ref_of(pool, "MultiNodePool"), OF_POOLS, _without(finalizers, OF_POOLS)),
        )


def _all_results(claim: Document) -> list[Document]:
    return list(part(claim, "status", "allocation", "devices").get("results") or ())


def _without(finalizers: tuple[str, ...], one: str) -> tuple[str, ...]:
    return tuple(other for other in finalizers if other != one)
