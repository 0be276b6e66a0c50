"""Parses the text form of faults (``faults.py``); every error is one ``InvalidFault``."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from agent.hardware.simulated.errors import InvalidFault
from agent.hardware.simulated.faults import (
    CALLS_OF_MACHINE,
    COUNTED,
    NIC_CALLS,
    NIC_REFUSALS,
    NVML_REFUSALS,
    REFUSALS,
    Answered,
    Call,
    Fail,
    Fault,
    Held,
    Injected,
    Kill,
    Lost,
    Moment,
    NicFault,
    NicTrouble,
    NoFabricManager,
    NvmlFunction,
    ProfilesNeedMig,
    Slow,
    Strike,
    WrongAnswer,
)
from agent.hardware.simulated.gpu_troubles.fault_text import FORMS, parse_health
from agent.hardware.simulated.gpu_troubles.faults import GpuTrouble, Raised

_TEXT: Final = re.compile(
    r"(?P<target>machine|(?P<kind>gpu|nic)-(?P<number>\d{1,3}))"
    r":(?:(?P<state>[a-z-]+)(?:=(?P<count>\d{1,6}))?"
    r"|(?P<call>[A-Za-z_0-9-]+):(?P<effect>[a-z-]+)(?:=(?P<seconds>\d{1,6}(?:\.\d{1,6})?))?"
    r"(?::(?P<times>[1-9]\d{0,5}))?)"
)
_ANSWER: Final = re.compile(
    r"gpu-(?P<gpu>\d{1,3}):(?P<what>uuid|minor|memory-mib)=(?P<value>GPU-[0-9a-f-]{1,40}|-?\d{1,9})"
)
_GPU_STATES: Final = {"lost": Lost, "in-use": Held}
_OF_MACHINE: Final[dict[str, Fault]] = {str(one): one for one in (NoFabricManager(), ProfilesNeedMig())}
_FORM: Final = (
    f"must be gpu-<minor>:lost, gpu-<minor>:in-use, {FORMS}, gpu-<minor>:<uuid|minor|memory-mib>=<answer>, "
    "nic-<number>:<trouble>, machine:no-vfio, machine:no-fabric-manager, machine:profiles-need-mig or "
    "<gpu-<minor>|nic-<number>|machine>:<call or function of NVML>:<effect>[:<times>]"
)


@lru_cache(maxsize=256)  # every call of the simulated driver asks for all of them
def parse_fault(text: str) -> Fault:
    """Parse the text form of a fault. Raises: InvalidFault, also for an event, which is no state."""
    found = parse_injected(text)
    if isinstance(found, Raised):
        raise InvalidFault(text, "is an event, which happens once: raise it on a machine that runs")
    return found


@lru_cache(maxsize=256)
def parse_injected(text: str) -> Injected:
    """Parse the text form of a fault or of an event. Raises: InvalidFault."""
    health = parse_health(text.strip())
    if health is not None:
        return health
    if text.strip() in _OF_MACHINE:
        return _OF_MACHINE[text.strip()]
    if answer := _ANSWER.fullmatch(text.strip()):
        return _wrong_answer(text, answer)
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise InvalidFault(text, _FORM)
    number = int(match["number"]) if match["number"] else None
    if not match["state"]:
        return _strike(text, number, match)
    is_trouble = match["state"] in set(NicTrouble) - _GPU_STATES.keys()
    if match["kind"] == "nic" or (match["kind"] is None and is_trouble):
        return _trouble(text, number, match)
    if match["state"] not in _GPU_STATES or match["count"]:
        raise InvalidFault(text, _FORM)
    if number is None:
        raise InvalidFault(text, f"{match['state']} is a state of one GPU, such as gpu-0")
    return Lost(number) if match["state"] == "lost" else Held(number)


def missing_device(fault: Injected, gpus: Collection[int], nics: Collection[int]) -> str | None:
    """Return the name of the device that a fault is about, if a machine has no such device."""
    match fault:
        case Raised(gpu=None) | NoFabricManager() | ProfilesNeedMig() | NicFault(nic=None):
            return None
        case Lost() | Held() | WrongAnswer() | GpuTrouble() | Raised():
            kind, number = "gpu", fault.gpu or 0
        case Fail(number=None) | Slow(number=None) | Kill(number=None):
            return None
        case NicFault():
            kind, number = "nic", fault.nic or 0
        case _:
            kind, number = "nic" if fault.call in NIC_CALLS else "gpu", fault.number or 0
    return None if number in (nics if kind == "nic" else gpus) else f"{kind}-{number}"


def _trouble(text: str, nic: int | None, match: re.Match[str]) -> NicFault:
    if match["state"] not in list(NicTrouble):
        raise InvalidFault(text, f"the trouble must be one of {', '.join(NicTrouble)}")
    trouble = NicTrouble(match["state"])
    if (trouble is NicTrouble.NO_VFIO) != (match["target"] == "machine"):
        raise InvalidFault(text, "no-vfio, and no-vfio alone, is a trouble of the machine")
    if (trouble in COUNTED) != (match["count"] is not None):
        raise InvalidFault(text, f"{' and '.join(COUNTED)}, and they alone, take a number: late-rdma=3")
    return NicFault(nic, trouble, int(match["count"]) if match["count"] else None)


def _wrong_answer(text: str, match: re.Match[str]) -> WrongAnswer:
    if (match["what"] == Answered.UUID) != match["value"].startswith("GPU-"):
        raise InvalidFault(text, "uuid takes a UUID, minor and memory-mib take a number")
    return WrongAnswer(int(match["gpu"]), Answered(match["what"]), match["value"])


def _strike(text: str, number: int | None, match: re.Match[str]) -> Strike:
    if match["call"] in list(NvmlFunction):
        return _strike_of_function(text, number, match)
    if match["call"] not in list(Call):
        known = f"{', '.join(Call)}; or a function of NVML, one of {', '.join(NvmlFunction)}"
        raise InvalidFault(text, f"the call must be one of {known}")
    call = Call(match["call"])
    kind = "nic" if call in NIC_CALLS else "gpu"
    if call in CALLS_OF_MACHINE and number is not None:
        raise InvalidFault(text, f"{call} is about no GPU: aim at machine")
    if match["kind"] not in (None, kind):
        raise InvalidFault(text, f"{call} is a call about a {kind.upper()}: aim at {kind}-0 or machine")
    return _effect(text, call, number, match, NIC_REFUSALS if kind == "nic" else REFUSALS)


def _strike_of_function(text: str, number: int | None, match: re.Match[str]) -> Strike:
    if match["kind"] == "nic":
        raise InvalidFault(text, f"{match['call']} is about a GPU: aim at gpu-0 or machine")
    return _effect(text, NvmlFunction(match["call"]), number, match, NVML_REFUSALS)


def _effect(
    text: str, call: Call | NvmlFunction, number: int | None, match: re.Match[str], refusals: Collection[str]
) -> Strike:
    effect, times = match["effect"], int(match["times"]) if match["times"] else None
    if (effect == "slow") != (match["seconds"] is not None):
        raise InvalidFault(text, "slow, and slow alone, takes seconds: slow=2.5")
    if effect == "slow":
        return Slow(call, number, float(match["seconds"]), times)
    if effect in list(Moment):
        return Kill(call, number, Moment(effect), times or 1)
    if effect in refusals:
        return Fail(call, number, effect, times)
    raise InvalidFault(text, f"the effect must be one of {', '.join([*refusals, 'slow=<seconds>', *Moment])}")
