"""From an answer in numbers to what is written into the claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler_core.answer import combined, configs
from scheduler_core.engine.plan import Answer
from scheduler_core.engine.roster import Site
from scheduler_core.model.claim import AllocatedDevice, Claim, ClaimRef, DeviceClass
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.pool import PoolId
from scheduler_core.model.result import Allocation


def written(
    answer: Answer, claims: Sequence[Claim], site: Site, classes: Mapping[str, DeviceClass]
) -> Allocation:
    """Return the allocation: per claim its devices in request order."""
    results: list[list[AllocatedDevice]] = [[] for _ in claims]
    selections: list[list[NodeSelection]] = [[] for _ in claims]
    names: list[list[str]] = [[] for _ in claims]
    picks = iter(answer.picks)
    for want in answer.choice.wants:
        names[want.claim].append(want.name)
        for _ in range(want.count):
            number, position = next(picks)
            component = site.components[number]
            pool: PoolId = component.pool
            device = DeviceId(pool.driver, pool.name, component.layout.names[position])
            results[want.claim].append(AllocatedDevice(want.name, device))
            selections[want.claim].append(component.selection(position))
    refs: list[ClaimRef] = [claim.ref for claim in claims]
    return Allocation(
        node=site.node.name,
        results={ref: tuple(devices) for ref, devices in zip(refs, results, strict=True)},
        nodes={ref: combined(several, site.node) for ref, several in zip(refs, selections, strict=True)},
        configs={
            claim.ref: tuple(configs(claim, classes, chosen))
            for claim, chosen in zip(claims, names, strict=True)
        },
    )
