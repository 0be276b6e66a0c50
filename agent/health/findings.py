"""PURE: what is wrong with each device of a node, from what is wrong with its hardware.

Takes the state, the devices, the rules and the MIG instances that exist; returns the findings of each device
that has some, the worst first. Agent and plugin call this with the same state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from agent.hardware.types import Bdf, GpuUuid, MigSpec
from agent.health.causes import TABLE, Cause, Scope, Severity
from agent.health.rules import HealthRules
from agent.health.state import HealthState, Key, Trouble
from agent.inventory.published import (
    GpuPartition,
    MigComputeInstance,
    MigPartition,
    NicVf,
    PublishedDevice,
    WholeGpu,
    WholeNic,
    gpus_of,
)
from scheduler_core.model.device import DeviceName
from scheduler_core.model.taints import Effect, Taint

DOMAIN: Final = "health.tangram.dev"
"""The domain of the taints; the name of the cause stands behind it."""
_MOST_XIDS: Final = 6  # a taint's value has 63 characters at most
Instances = Mapping[tuple[GpuUuid, int], MigSpec]
"""The MIG instances that exist, by the GPU and the id of the GPU instance."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause that concerns a device.

    Shape: ``xids`` by number, empty for causes that are none; ``times`` how often it came, by which findings
           do not differ. Units: ``since_s`` seconds since 1970.
    """

    cause: Cause
    severity: Severity
    since_s: float
    xids: tuple[int, ...] = ()
    detail: str = ""
    times: int = field(default=1, compare=False)

    @property
    def keeps_pods_away(self) -> bool:
        """Whether no new pod may get the device."""
        return self.severity is not Severity.NOTE

    def __str__(self) -> str:
        row = TABLE[self.cause]
        numbers = f", XID {', '.join(map(str, self.xids))}" if self.xids else ""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.cause}{numbers}: {row.meaning}{detail}; {row.remedy}"

    @property
    def taint(self) -> Taint:
        """Return its mark on a device."""
        effect = Effect.NO_EXECUTE if self.severity is Severity.EVICT else Effect.NO_SCHEDULE
        value = ".".join(map(str, self.xids[:_MOST_XIDS]))
        return Taint(f"{DOMAIN}/{self.cause}", value, effect, time_of(self.since_s))


Findings = Mapping[DeviceName, tuple[Finding, ...]]
"""What is wrong with devices, of those with which something is."""


def time_of(at_s: float) -> str:
    """Return a time as the API server writes it. Units: seconds since 1970."""
    return datetime.fromtimestamp(int(at_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def findings(
    state: HealthState,
    devices: Mapping[DeviceName, PublishedDevice],
    rules: HealthRules,
    instances: Instances,
) -> Findings:
    """Return what is wrong with each device. Shape: the worst first, then by the order of the table."""
    if not state.troubles:
        return {}
    of_target: dict[str, list[tuple[Key, Trouble]]] = {}
    for key, trouble in state.troubles.items():
        of_target.setdefault(key.target, []).append((key, trouble))
    found = {}
    for name, device in devices.items():
        own = [
            each for target in _targets(device) for each in of_target.get(target, ())
            if _concerns(each[0], device, instances)
        ]  # fmt: skip
        if own:
            found[name] = merged(own, rules)
    return found


def of_gpu(state: HealthState, bdf: Bdf, rules: HealthRules) -> tuple[Finding, ...]:
    """Return what is wrong with the GPU at an address, whatever is cut from it."""
    gpus = {gpu for gpu, memory in state.gpus.items() if memory.bdf == bdf}
    return merged([each for each in state.troubles.items() if each[0].target in gpus], rules)


def merged(troubles: Iterable[tuple[Key, Trouble]], rules: HealthRules) -> tuple[Finding, ...]:
    """Return one finding for each cause: as bad as its worst XID, and as old as its oldest."""
    by_cause: dict[Cause, list[tuple[Key, Trouble]]] = {}
    for key, trouble in troubles:
        by_cause.setdefault(key.cause, []).append((key, trouble))
    found = (_finding(cause, by_cause[cause], rules) for cause in Cause if cause in by_cause)
    return tuple(sorted(found, key=lambda one: -one.severity.rank))


def _finding(cause: Cause, troubles: list[tuple[Key, Trouble]], rules: HealthRules) -> Finding:
    xids = {key.xid for key, _ in troubles if key.xid is not None}
    severities = [rules.severity(cause, key.xid) for key, _ in troubles]
    details = sorted({trouble.detail for _, trouble in troubles if trouble.detail})
    return Finding(
        cause,
        max(severities, key=lambda one: one.rank),
        min(trouble.since_s for _, trouble in troubles),
        tuple(sorted(xids, key=lambda xid: (-rules.severity(cause, xid).rank, xid))),
        "; ".join(details),
        sum(trouble.times for _, trouble in troubles),
    )


def _targets(device: PublishedDevice) -> Iterator[str]:
    yield from (gpu.uuid for gpu in gpus_of(device))
    if isinstance(device, WholeNic | NicVf):
        yield device.pf.function.bdf
    if isinstance(device, NicVf) and device.vf is not None:
        yield device.vf.function.bdf


def _concerns(key: Key, device: PublishedDevice, instances: Instances) -> bool:
    """Whether a trouble of a device's hardware is one of the device."""
    match TABLE[key.cause].scope:
        case Scope.NVLINK:
            return isinstance(device, WholeGpu | GpuPartition)
        case Scope.DEVICE:
            return _is_named(key, device, instances)
        case _:
            return True


def _is_named(key: Key, device: PublishedDevice, instances: Instances) -> bool:
    """Whether an event meant a device: its MIG instance, or the whole GPU where it named none."""
    is_cut = isinstance(device, MigPartition | MigComputeInstance)
    if key.gi_id is None:
        return not is_cut
    if not isinstance(device, MigPartition | MigComputeInstance):
        return False
    spec = device.spec if isinstance(device, MigPartition) else device.spec.partition
    return instances.get((device.gpu.uuid, key.gi_id)) == spec
