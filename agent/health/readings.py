"""PURE: what a reading of a device says: what is wrong now, what is over, and whether the GPU was reset.

A reset is seen by what only a reset changes (decision 0091). A new session with the driver is none.
"""

from __future__ import annotations

from dataclasses import replace

from agent.hardware.health.types import FabricState, GpuVitals, NicVitals, Recovery
from agent.hardware.types import Bdf, GpuUuid
from agent.health.causes import TABLE, Cause, Heals
from agent.health.state import Facts, GpuMemory, GpuReading, Key, NoAnswer, Trouble

_OF_FABRIC = {
    Cause.FABRIC_NOT_READY: (FabricState.NOT_STARTED, FabricState.IN_PROGRESS, FabricState.FAILED),
    Cause.FABRIC_UNHEALTHY: (
        FabricState.MISCONFIGURED,
        FabricState.ROUTE_UNHEALTHY,
        FabricState.ROUTE_RECOVERY,
        FabricState.ACCESS_TIMEOUT_RECOVERY,
    ),
    Cause.FABRIC_DEGRADED: (FabricState.DEGRADED_BANDWIDTH,),
}


class Levels:
    """Troubles while they change. Units: ``now_s`` seconds since 1970."""

    def __init__(self, troubles: dict[Key, Trouble], now_s: float) -> None:
        self.troubles = troubles
        self.now_s = now_s

    def add(self, key: Key, *, times: int = 1, detail: str = "") -> None:
        """Note that something came once more."""
        known = self.troubles.get(key)
        if known is None:
            self.troubles[key] = Trouble(self.now_s, self.now_s, times, detail)
        else:
            self.troubles[key] = Trouble(
                known.since_s, self.now_s, known.times + times, detail or known.detail
            )

    def level(self, target: GpuUuid | Bdf, cause: Cause, *, is_so: bool, detail: str = "") -> None:
        """Note whether something is wrong now. A state that lasts comes once."""
        key = Key(target=target, cause=cause)
        known = self.troubles.get(key)
        if not is_so:
            self.troubles.pop(key, None)
        elif known is None:
            self.troubles[key] = Trouble(self.now_s, self.now_s, 1, detail)
        elif known.detail != detail:
            self.troubles[key] = replace(known, detail=detail)

    def heal_by_reset(self, gpu: GpuUuid) -> None:
        """End everything of a GPU that a reset ends."""
        for key in [key for key in self.troubles if key.target == gpu]:
            if TABLE[key.cause].heals is Heals.RESET:
                del self.troubles[key]


def after_gpu(
    work: Levels, gpu: GpuUuid, memory: GpuMemory, reading: GpuReading | NoAnswer, facts: Facts
) -> GpuMemory:
    """Note what a reading of a GPU says, and return what is remembered of it."""
    if isinstance(reading, NoAnswer):
        return _after_no_answer(work, gpu, memory, reading)
    vitals = reading.vitals
    if was_reset(memory, vitals):
        work.heal_by_reset(gpu)
        memory = GpuMemory(bdf=memory.bdf, links=memory.links)
    for cause in (Cause.DRIVER_SILENT, Cause.NOT_IN_DRIVER, Cause.GONE_FROM_PCI):
        work.level(gpu, cause, is_so=False)
    _read_memory(work, gpu, memory, vitals)
    _read_recovery(work, gpu, vitals.recovery)
    if vitals.slowdowns:
        _read_slowdowns(work, gpu, vitals)
    if facts.is_joined_at_boot:
        _read_links(work, gpu, memory, reading)
    is_recovery_known = vitals.recovery is not None
    return GpuMemory(
        bdf=memory.bdf,
        needs_recovery=vitals.recovery is not Recovery.NONE if is_recovery_known else memory.needs_recovery,
        is_remap_pending=_or(vitals.is_remap_pending, memory.is_remap_pending),
        ecc=memory.ecc if vitals.uncorrectable_ecc is None else vitals.uncorrectable_ecc,
        links=memory.links | frozenset(vitals.links_active),
    )


def was_reset(memory: GpuMemory, vitals: GpuVitals) -> bool:
    """Whether a GPU was reset since it last answered: it says something that only a reset makes true."""
    return (
        memory.is_away
        or (memory.needs_recovery and vitals.recovery is Recovery.NONE)
        or (memory.is_remap_pending and vitals.is_remap_pending is False)
        or (vitals.uncorrectable_ecc is not None and vitals.uncorrectable_ecc < memory.ecc)
    )


def levels_of_nic(work: Levels, nic: NicVitals) -> None:
    """Note what a reading of a NIC's function says. Nothing is known of a link that is set down."""
    work.level(nic.bdf, Cause.NIC_LINK_DOWN, is_so=nic.has_link is False)
    ports = ", ".join(nic.ports_down)
    work.level(nic.bdf, Cause.RDMA_PORT_DOWN, is_so=bool(ports), detail=ports)


def _after_no_answer(work: Levels, gpu: GpuUuid, memory: GpuMemory, why: NoAnswer) -> GpuMemory:
    if why.is_lost:
        work.level(gpu, Cause.GPU_LOST, is_so=True)
    elif why.is_unknown:
        work.level(gpu, Cause.NOT_IN_DRIVER, is_so=True)
    else:
        work.level(gpu, Cause.DRIVER_SILENT, is_so=True, detail=why.reason)
        return memory
    return replace(memory, is_away=True)


def _read_memory(work: Levels, gpu: GpuUuid, memory: GpuMemory, vitals: GpuVitals) -> None:
    count = vitals.uncorrectable_ecc
    if count is not None and count > memory.ecc:
        work.level(gpu, Cause.UNCORRECTABLE_ECC, is_so=True)
    if vitals.is_remap_pending is not None:
        work.level(gpu, Cause.REMAP_PENDING, is_so=vitals.is_remap_pending)
    if vitals.has_remap_failed is not None:
        work.level(gpu, Cause.REMAP_FAILED, is_so=vitals.has_remap_failed)


def _read_recovery(work: Levels, gpu: GpuUuid, recovery: Recovery | None) -> None:
    if recovery is not None:
        is_so = recovery is not Recovery.NONE
        work.level(gpu, Cause.RECOVERY_NEEDED, is_so=is_so, detail=str(recovery) if is_so else "")


def _read_slowdowns(work: Levels, gpu: GpuUuid, vitals: GpuVitals) -> None:
    key = Key(target=gpu, cause=Cause.SLOWDOWN)
    known = work.troubles.get(key)
    why = ", ".join(sorted(vitals.slowdowns))
    since_s, times = (work.now_s, 1) if known is None else (known.since_s, known.times)
    work.troubles[key] = Trouble(since_s, work.now_s, times, why)


def _read_links(work: Levels, gpu: GpuUuid, memory: GpuMemory, reading: GpuReading) -> None:
    vitals = reading.vitals
    if reading.has_links and (vitals.links_active or vitals.links_down):
        failed = sorted(memory.links.intersection(vitals.links_down))
        detail = ", ".join(str(link) for link in failed)
        work.level(gpu, Cause.NVLINK_DOWN, is_so=bool(failed), detail=detail)
    if reading.has_links and vitals.fabric is not None:
        for cause, states in _OF_FABRIC.items():
            work.level(gpu, cause, is_so=vitals.fabric in states, detail=str(vitals.fabric))


def _or(said: bool | None, before: bool) -> bool:
    return before if said is None else said
