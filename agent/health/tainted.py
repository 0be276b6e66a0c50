"""What health adds to a node's devices: judged findings, and the taints that say so. Pure.

A device stays listed under its name. A server that drops taints does not get it: it would seem well there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from agent.hardware.types import GpuInstance
from agent.health.findings import Finding, Findings, findings, of_gpu
from agent.health.rules import HealthRules
from agent.health.state import HealthState
from agent.inventory.model import NodeDevices
from agent.inventory.names import gpu_name
from scheduler_core.dialects.project import spellings
from scheduler_core.model.device import DeviceName
from scheduler_core.model.pool import Pool


def judged(
    devices: NodeDevices, instances: Iterable[GpuInstance], state: HealthState, rules: HealthRules
) -> Findings:
    """Return what is wrong with the devices of a node, and with the GPUs that the driver does not list."""
    at = {(one.parent, one.gi_id): one.spec for one in instances}
    found = dict(findings(state, devices.by_name, rules, at))
    for unlisted in devices.unlisted:
        if own := of_gpu(state, unlisted.function.bdf, rules):
            found[gpu_name(unlisted.number)] = own
    return found


def with_health(pool: Pool, devices: NodeDevices, health: Findings) -> Pool:
    """Return a v1 pool with the taints. Shape: ``devices`` are what the pool was made from."""
    marks = tainting(health)
    if not marks:
        return pool
    names = spellings(devices.pool).devices
    by_name = {names.get(name, name): found for name, found in marks.items()}
    tainted = (
        replace(one, taints=(*one.taints, *(found.taint for found in by_name[one.name])))
        if one.name in by_name
        else one
        for one in pool.devices
    )
    return replace(pool, devices=tuple(tainted))


def tainting(health: Findings) -> Mapping[DeviceName, tuple[Finding, ...]]:
    """Return the findings that keep pods away, of devices that have some."""
    kept = {name: tuple(one for one in found if one.keeps_pods_away) for name, found in health.items()}
    return {name: found for name, found in kept.items() if found}
