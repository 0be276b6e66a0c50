"""PURE: what is wrong now, from what was wrong before and what was told since.

What was read heals first; then everything that was told is added, so nothing that came in one moment is
lost, whatever the order in which it came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from agent.hardware.health.types import GpuEvent, GpuEventKind, NicVitals, Unwatched
from agent.hardware.types import Bdf, GpuUuid
from agent.health.causes import TABLE, Cause, Heals, Scope
from agent.health.readings import Levels, after_gpu, levels_of_nic
from agent.health.rules import HealthRules
from agent.health.state import Facts, GpuMemory, HealthState, Key, NoAnswer, Told
from agent.health.xids import XIDS, cause_of_xid

_MOST_OF_GPU: Final = 128
"""Troubles of one GPU that are kept apart: a driver that tells any number must not fill the memory."""


def after_boot(state: HealthState, boot_id: str) -> HealthState:
    """Return the state of this boot: a boot ends everything but what the operator must replace."""
    if state.boot_id == boot_id:
        return state
    kept = {key: one for key, one in state.troubles.items() if TABLE[key.cause].heals is Heals.OPERATOR}
    gpus = {gpu: GpuMemory(bdf=memory.bdf) for gpu, memory in state.gpus.items()}
    return HealthState(boot_id, kept, gpus)


def folded(state: HealthState, told: Told, rules: HealthRules, now_s: float, facts: Facts) -> HealthState:
    """Return the state after what was told: the identical value where nothing changed.

    Shape: ``facts`` of the last look. Units: ``now_s`` seconds since 1970.
    """
    work = _Work(state, now_s, rules)
    for gpu, reading in told.gpus.items():
        if gpu in work.gpus:
            work.gpus[gpu] = after_gpu(work, gpu, work.gpus[gpu], reading, facts)
    for bdf, nic in told.nics.items():
        _hear_nic(work, bdf, nic, facts)
    if told.unwatched is not None:
        _hear_unwatched(work, told.unwatched)
    for event in told.events:
        _hear_event(work, event)
    return work.done()


def looked(state: HealthState, facts: Facts, rules: HealthRules, now_s: float) -> HealthState:
    """Return the state after a look at the machine: which GPUs are there, and which are gone."""
    work = _Work(state, now_s, rules)
    at = {bdf: gpu for gpu, bdf in facts.gpus.items()}
    for gpu, bdf in facts.gpus.items():
        before = work.gpus.get(gpu)
        work.gpus[gpu] = GpuMemory(bdf=bdf) if before is None else replace(before, bdf=bdf)
        work.level(gpu, Cause.GONE_FROM_PCI, is_so=False)
        if not work.gpus[gpu].is_away:  # else its own answer says that it is back
            work.level(gpu, Cause.NOT_IN_DRIVER, is_so=False)
    for gpu, memory in list(work.gpus.items()) if facts.are_gpus_read else ():
        if gpu in facts.gpus:
            continue
        if memory.bdf in at:  # another GPU has its place: it was replaced
            work.forget(gpu)
            continue
        is_given, is_there = memory.bdf in facts.given_away, memory.bdf in facts.unlisted
        work.level(gpu, Cause.NOT_IN_DRIVER, is_so=is_there and not is_given)
        work.level(gpu, Cause.GONE_FROM_PCI, is_so=not is_there)
        work.gpus[gpu] = replace(memory, is_away=True)
    nics = facts.pfs | facts.vfs
    for key in [key for key in work.troubles if _is_address(key.target) and key.target not in nics]:
        if key.cause not in (Cause.VF_LOST, Cause.GONE_FROM_PCI):
            del work.troubles[key]
    return work.done()


class _Work(Levels):
    """A state while it changes."""

    def __init__(self, state: HealthState, now_s: float, rules: HealthRules) -> None:
        super().__init__(dict(state.troubles), now_s)
        self.gpus = dict(state.gpus)
        self.rules = rules
        self._before = state

    def forget(self, gpu: GpuUuid) -> None:
        """Forget a GPU that is not on this node any more."""
        del self.gpus[gpu]
        for key in [key for key in self.troubles if key.target == gpu]:
            del self.troubles[key]

    def done(self) -> HealthState:
        """Return the state without what is over by now."""
        for key, trouble in list(self.troubles.items()):
            quiet_s = self.rules.quiet(key.cause)
            if trouble.last_s > self.now_s:  # the clock was set back
                self.troubles[key] = replace(
                    trouble, since_s=min(trouble.since_s, self.now_s), last_s=self.now_s
                )
            elif quiet_s is not None and self.now_s - trouble.last_s >= quiet_s:
                del self.troubles[key]
        if self.troubles == self._before.troubles and self.gpus == self._before.gpus:
            return self._before
        return HealthState(self._before.boot_id, self.troubles, self.gpus)


def _hear_event(work: _Work, event: GpuEvent) -> None:
    if event.gpu is None or event.gpu not in work.gpus:
        return  # who hears events tells of it: there is no device that it could concern
    match event.kind:
        case GpuEventKind.XID:
            cause = cause_of_xid(event.xid)
            work.add(_key_of_xid(work, event, event.gpu, cause), times=event.times)
        case GpuEventKind.UNCORRECTABLE_ECC:
            work.add(Key(target=event.gpu, cause=Cause.UNCORRECTABLE_ECC), times=event.times)
        case GpuEventKind.UNAVAILABLE:
            work.add(Key(target=event.gpu, cause=Cause.RECOVERY_NEEDED), times=event.times)
        case _:
            return  # what changed is read, and then it is known


def _key_of_xid(work: _Work, event: GpuEvent, gpu: GpuUuid, cause: Cause) -> Key:
    is_of_part = TABLE[cause].scope is Scope.DEVICE
    gi_id, ci_id = (event.gi_id, event.ci_id) if is_of_part else (None, None)
    key = Key(target=gpu, cause=cause, xid=event.xid, gi_id=gi_id, ci_id=ci_id)
    if key in work.troubles or sum(one.target == gpu for one in work.troubles) < _MOST_OF_GPU:
        return key
    is_known = event.xid in XIDS or event.xid in work.rules.xids
    return Key(target=gpu, cause=cause, xid=event.xid if is_known else None)


def _hear_unwatched(work: _Work, unwatched: Iterable[Unwatched]) -> None:
    why = {one.gpu: one.reason for one in unwatched}
    for gpu in work.gpus:
        work.level(gpu, Cause.UNWATCHED, is_so=gpu in why, detail=why.get(gpu, ""))


def _hear_nic(work: _Work, bdf: Bdf, nic: NicVitals | NoAnswer, facts: Facts) -> None:
    lost = Cause.GONE_FROM_PCI if bdf in facts.pfs else Cause.VF_LOST
    if isinstance(nic, NoAnswer):
        if nic.is_unknown:
            work.level(bdf, lost, is_so=True)
        return
    work.level(bdf, lost, is_so=False)
    levels_of_nic(work, nic)


def _is_address(target: str) -> bool:
    return ":" in target
