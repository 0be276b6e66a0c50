"""Situations to this core's answers, by a policy. A refusal of the core is an answer like any other."""

from __future__ import annotations

from dataclasses import replace

from scheduler_core.engine.policy import Policy
from scheduler_core.errors import CoreError
from scheduler_core.model.claim import AllocatedDevice
from scheduler_core.model.device import DeviceId
from scheduler_core.model.result import Allocation, Unallocatable
from tangram.conformance.situation import SHARE_ID, Situation
from tangram.policies import engine_of

Answered = Allocation | Unallocatable | CoreError


def answer_of(situation: Situation, policy: Policy) -> Answered:
    """Return the answer of the first node that fits; of the first node where none does."""
    engine = engine_of(situation.cluster, policy)
    try:
        answer = engine.allocate_somewhere(situation.claims, situation.nodes)
    except CoreError as refusal:
        return refusal
    return with_share_ids(answer, situation) if isinstance(answer, Allocation) else answer


def feasible_nodes(situation: Situation, policy: Policy) -> list[str]:
    """Return the names of the nodes on which the claims fit."""
    return list(engine_of(situation.cluster, policy).feasible_nodes(situation.claims, situation.nodes))


def with_share_ids(answer: Allocation, situation: Situation) -> Allocation:
    """Give every share the id that stands in case files for any: the core leaves ids to its caller."""
    shareable = {
        pool.id_of(device)
        for pool in situation.cluster.pools
        for device in pool.devices
        if device.is_shareable
    }
    results = {
        ref: tuple(_with_share_id(result, shareable) for result in devices)
        for ref, devices in answer.results.items()
    }
    return replace(answer, results=results)


def _with_share_id(result: AllocatedDevice, shareable: set[DeviceId]) -> AllocatedDevice:
    is_share = result.device in shareable and not result.admin_access
    return replace(result, share_id=SHARE_ID) if is_share else result
