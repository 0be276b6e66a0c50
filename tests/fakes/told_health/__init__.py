"""Values for tests of health: two GPUs, a NIC with a VF, and short ways to say what was told of them."""

from __future__ import annotations

from typing import Any, Final

from agent.hardware.health.types import (
    FabricState,
    GpuEvent,
    GpuEventKind,
    GpuVitals,
    NicVitals,
    Recovery,
)
from agent.hardware.types import Bdf, GpuUuid
from agent.health.causes import Cause
from agent.health.fold import folded, looked
from agent.health.rules import HealthRules
from agent.health.state import Facts, GpuReading, HealthState, Key, NoAnswer, Told

A: Final = GpuUuid("GPU-a")
B: Final = GpuUuid("GPU-b")
NIC: Final = Bdf("0000:0c:00.0")
VF: Final = Bdf("0000:0c:00.2")
RULES: Final = HealthRules()
FACTS: Final = Facts(
    gpus={A: Bdf("0000:07:00.0"), B: Bdf("0000:0f:00.0")}, pfs=frozenset({NIC}), vfs=frozenset({VF})
)
LOST: Final = NoAnswer("it fell off the bus", is_lost=True)


def start(facts: Facts = FACTS) -> HealthState:
    """Return the state after the first look, with nothing wrong."""
    return looked(HealthState("boot-1"), facts, RULES, 0.0)


def xid(number: int | None, gpu: GpuUuid | None = A, **more: Any) -> GpuEvent:
    """Return an XID of a GPU."""
    return GpuEvent(gpu=gpu, kind=GpuEventKind.XID, xid=number, **more)


def well(gpu: GpuUuid = A, **more: Any) -> GpuReading:
    """Return a reading of a GPU. Shape: ``more`` what differs from a GPU that is well."""
    sound: dict[str, Any] = {
        "uncorrectable_ecc": 0,
        "is_remap_pending": False,
        "has_remap_failed": False,
        "links_active": (0, 1),
        "fabric": FabricState.COMPLETED,
        "recovery": Recovery.NONE,
    }
    return GpuReading(GpuVitals(gpu=gpu, **{**sound, **more}))


def heard(state: HealthState, *events: GpuEvent, at_s: float = 1.0) -> HealthState:
    """Return the state after events."""
    return folded(state, Told(events), RULES, at_s, FACTS)


def read(
    state: HealthState,
    reading: GpuReading | NoAnswer,
    gpu: GpuUuid = A,
    at_s: float = 1.0,
    facts: Facts = FACTS,
) -> HealthState:
    """Return the state after one GPU was read."""
    return folded(state, Told(gpus={gpu: reading}), RULES, at_s, facts)


def read_nic(state: HealthState, bdf: Bdf, reading: NicVitals | NoAnswer) -> HealthState:
    """Return the state after one function of a NIC was read."""
    return folded(state, Told(nics={bdf: reading}), RULES, 1.0, FACTS)


def causes(state: HealthState, target: str = A) -> set[Cause]:
    """Return what is wrong with a device."""
    return {key.cause for key in state.troubles if key.target == target}


def key_of(cause: Cause, number: int | None = None) -> Key:
    """Return the key of a trouble of the first GPU."""
    return Key(target=A, cause=cause, xid=number)
