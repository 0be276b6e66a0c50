"""What happens on a simulated machine when its driver raises an event, or a GPU gets a trouble. Pure.

Some events have consequences on real GPUs that do not wait for the next reset: they are states from then on.
Source: NVIDIA XID Errors; NVIDIA GPU Memory Error Management.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from msgspec.structs import replace

from agent.hardware.health.types import GpuEvent, GpuEventKind
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.faults import Fault, Lost
from agent.hardware.simulated.gpu_troubles.faults import GpuTrouble, GpuTroubleKind, Raised
from agent.hardware.simulated.health.limits import remaps_rows
from agent.hardware.simulated.health.vitals import vitals_of
from agent.hardware.simulated.state import State
from agent.hardware.simulated.strikes import faults_of, with_fault


class XidNumber(IntEnum):
    """The XIDs with consequences."""

    DOUBLE_BIT = 48
    """An error of two bits in memory, which nothing corrects."""
    ROW_REMAPPED = 63
    ROW_REMAP_FAILED = 64
    FELL_OFF_THE_BUS = 79
    CONTAINED = 94
    """An error of memory that only the program that read it suffers from."""
    UNCONTAINED = 95


_EVENTS: Final = {
    GpuTroubleKind.ECC: GpuEventKind.UNCORRECTABLE_ECC,
    GpuTroubleKind.RECOVERY: GpuEventKind.RECOVERY_CHANGED,
}
"""What the driver raises when a trouble comes."""


def with_raised(state: State, raised: Raised, card: Card) -> State:
    """Return the state after an event of a GPU, with its consequences."""
    state = with_event(state, raised, card)
    for fault in _consequences(state, raised, card):
        state = replace(state, faults=with_fault(state.faults, fault))
    return state


def with_trouble(state: State, trouble: GpuTrouble, card: Card) -> State:
    """Return the state after a GPU got a trouble, with the event that tells of it."""
    after = replace(state, faults=with_fault(state.faults, trouble))
    event = _EVENTS.get(trouble.kind)
    if event is None or after.faults == state.faults:
        return after
    return with_event(after, Raised(card.minor, event), card)


def with_event(state: State, raised: Raised, card: Card | None) -> State:
    """Return the state after an event alone, None for a GPU that nobody knows."""
    gpu = None if card is None else card.uuid
    event = GpuEvent(
        gpu=gpu,
        kind=raised.kind,
        xid=raised.xid,
        gi_id=raised.gi_id,
        ci_id=raised.ci_id,
        times=raised.times,
    )
    return replace(state, events=state.events.with_event(event))


def _consequences(state: State, raised: Raised, card: Card) -> tuple[Fault, ...]:
    minor = card.minor
    match raised.xid:
        case XidNumber.FELL_OFF_THE_BUS:
            return (Lost(minor),)
        case XidNumber.ROW_REMAPPED if remaps_rows(card):
            return (GpuTrouble(minor, GpuTroubleKind.REMAP_PENDING),)
        case XidNumber.ROW_REMAP_FAILED if remaps_rows(card):
            return (GpuTrouble(minor, GpuTroubleKind.REMAP_FAILED),)
        case XidNumber.DOUBLE_BIT | XidNumber.CONTAINED | XidNumber.UNCONTAINED:
            before = vitals_of(card, faults_of(state)).uncorrectable_ecc or 0
            return (GpuTrouble(minor, GpuTroubleKind.ECC, before + raised.times),)
        case _:
            return ()
