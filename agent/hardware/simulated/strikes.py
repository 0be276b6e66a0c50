"""Which faults affect a call, and which remain after it. Pure: takes a state; returns a state."""

from __future__ import annotations

from dataclasses import dataclass, replace

from msgspec.structs import replace as changed

from agent.hardware.simulated.fault_text import parse_fault
from agent.hardware.simulated.faults import (
    Answered,
    Call,
    Fail,
    Fault,
    Held,
    Kill,
    Lost,
    NicFault,
    NicTrouble,
    NoFabricManager,
    NvmlFunction,
    ProfilesNeedMig,
    Slow,
    Strike,
    WrongAnswer,
)
from agent.hardware.simulated.gpu_troubles.faults import ONE_AT_A_TIME, GpuTrouble
from agent.hardware.simulated.state import State


@dataclass(frozen=True, slots=True)
class Blow:
    """The effects of faults on one call. Units: ``delay_s`` seconds."""

    delay_s: float = 0.0
    outcome: Fail | Kill | None = None


def faults_of(state: State) -> tuple[Fault, ...]:
    """Return the faults in the order in which they were injected."""
    return tuple(parse_fault(text) for text in state.faults)


def with_fault(faults: tuple[str, ...], fault: Fault) -> tuple[str, ...]:
    """Return the faults with this one added; a permanent fault is added only once.

    A trouble that a GPU can have only one of takes the place of the one before.
    """
    if isinstance(fault, WrongAnswer) or (isinstance(fault, GpuTrouble) and fault.kind in ONE_AT_A_TIME):
        alike = f"{str(fault).partition('=')[0]}="
        return (*(text for text in faults if not text.startswith(alike)), str(fault))
    is_counted = isinstance(fault, Fail | Slow | Kill) and fault.times is not None
    return faults if str(fault) in faults and not is_counted else (*faults, str(fault))


def is_lost(state: State, gpu: int) -> bool:
    """Whether the GPU with this minor number fell off the bus."""
    return str(Lost(gpu)) in state.faults


def is_held(state: State, gpu: int) -> bool:
    """Whether a client holds the GPU with this minor number."""
    return str(Held(gpu)) in state.faults


def has_no_fabric_manager(state: State) -> bool:
    """Whether the fabric manager does not run."""
    return str(NoFabricManager()) in state.faults


def needs_mig_for_profiles(state: State) -> bool:
    """Whether the driver reports MIG profiles only while MIG mode is on."""
    return str(ProfilesNeedMig()) in state.faults


def wrong_answer(state: State, gpu: int, what: Answered) -> str | None:
    """Return what the driver answers for a value of a GPU in place of what is true, None if nothing else."""
    start = str(WrongAnswer(gpu, what, ""))
    return next((text.removeprefix(start) for text in state.faults if text.startswith(start)), None)


def trouble(state: State, nic: int | None, kind: NicTrouble) -> NicFault | None:
    """Return the trouble of this kind that a NIC (None: the machine) has, the first if it has several."""
    start = str(NicFault(nic, kind))
    if not any(text == start or text.startswith(f"{start}=") for text in state.faults):
        return None
    faults = (fault for fault in faults_of(state) if isinstance(fault, NicFault))
    return next((fault for fault in faults if (fault.nic, fault.trouble) == (nic, kind)), None)


def struck(state: State, call: Call | NvmlFunction, number: int | None) -> tuple[State, Blow]:
    """Select the faults of this call: every delay, and the first failure or kill.

    Shape: ``number`` of the GPU or NIC, None for a call that concerns no single one.
    """
    blow, left = Blow(), []
    for text in state.faults:
        match fault := parse_fault(text):
            case Slow() if _aims_at(fault, call, number):
                blow = replace(blow, delay_s=blow.delay_s + fault.seconds)
                left.extend(_spent(fault))
            case Fail() | Kill() if blow.outcome is None and _aims_at(fault, call, number):
                blow = replace(blow, outcome=fault)
                left.extend(_spent(fault))
            case _:
                left.append(text)
    return changed(state, faults=tuple(left)), blow


def after_reset(state: State, gpu: int) -> State:
    """Return the state after a GPU was reset: it is back, and most troubles of its health are over."""
    over = (
        fault
        for fault in faults_of(state)
        if isinstance(fault, GpuTrouble) and fault.gpu == gpu and not fault.outlives_reset
    )
    return without(state, Lost(gpu), *over)


def without(state: State, *states: Fault) -> State:
    """Return the state without these faults."""
    gone = {str(fault) for fault in states}
    return changed(state, faults=tuple(text for text in state.faults if text not in gone))


def _aims_at(fault: Strike, call: Call | NvmlFunction, number: int | None) -> bool:
    if fault.call is not call:
        return False
    # Listing the GPUs is one call for the machine, then one read per GPU; a fault affects one of these.
    return fault.number == number or (fault.number is None and call is not Call.GPUS)


def _spent(fault: Strike) -> list[str]:
    if fault.times is None:
        return [str(fault)]
    return [str(replace(fault, times=fault.times - 1))] if fault.times > 1 else []
