"""What a program asks its NVML process, and how question and answer travel: typed msgpack, one message each.

Both sides read this table, and no call but these can be asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final, Generic, TypeVar

import msgspec

from agent.hardware import errors
from agent.hardware.errors import HardwareError, HardwareFault
from agent.hardware.health.types import GpuEvent, GpuVitals
from agent.hardware.types import (
    Bdf,
    ComputeInstance,
    ComputeMode,
    DriverVersions,
    Gpu,
    GpuInstance,
    GpuUuid,
    MigMode,
    MigProfile,
    MigSpec,
    ModeChange,
    Placement,
)

Answered = TypeVar("Answered")

# Finding a GPU by its UUID was seen to take 10 s while other programs did it, too; a change of the MIG mode
# resets the GPU; and a driver without persistence starts every GPU when it is opened.
_READ_S: Final = 20.0
_CHANGE_S: Final = 60.0
_OPEN_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Call(Generic[Answered]):
    """One call of ``Nvml``, by its name there.

    Shape: ``attempted`` for messages; ``arguments`` and ``answer`` the types. Units: ``longest_s`` seconds.
    """

    name: str
    attempted: str
    arguments: Any
    answer: Any
    longest_s: float = _READ_S


OPEN: Final[Call[None]] = Call("open", "open NVML", tuple[str | None], NoneType, _OPEN_S)
VERSIONS: Final[Call[DriverVersions]] = Call("versions", "read the versions", tuple[()], DriverVersions)
COUNT: Final[Call[int]] = Call("count", "count GPUs", tuple[()], int)
GPU: Final[Call[Gpu]] = Call("gpu", "read", tuple[int], Gpu)
ADDRESS: Final[Call[Bdf]] = Call("address", "read the PCI address", tuple[int], Bdf)
MINOR: Final[Call[int]] = Call("minor", "read the minor number", tuple[GpuUuid], int)
MIG_MODE: Final[Call[MigMode | None]] = Call("mig_mode", "read the MIG mode", tuple[GpuUuid], MigMode | None)
COMPUTE_MODE: Final[Call[ComputeMode]] = Call(
    "compute_mode", "read the compute mode", tuple[GpuUuid], ComputeMode
)
SET_COMPUTE_MODE: Final[Call[None]] = Call(
    "set_compute_mode", "set the compute mode", tuple[GpuUuid, ComputeMode], NoneType, _CHANGE_S
)
PROFILES: Final[Call[tuple[MigProfile, ...]]] = Call(
    "profiles", "read the MIG profiles", tuple[GpuUuid], tuple[MigProfile, ...]
)
GPU_INSTANCES: Final[Call[tuple[GpuInstance, ...]]] = Call(
    "gpu_instances", "list GIs", tuple[GpuUuid], tuple[GpuInstance, ...]
)
PROCESSES: Final[Call[tuple[int, ...]]] = Call("processes", "list processes", tuple[GpuUuid], tuple[int, ...])
VITALS: Final[Call[GpuVitals]] = Call("vitals", "read the vitals", tuple[GpuUuid], GpuVitals)
WATCH_EVENTS: Final[Call[None]] = Call("watch_events", "register for events", tuple[GpuUuid], NoneType)
WAIT_EVENTS: Final[Call[tuple[GpuEvent, ...]]] = Call(
    "wait_events", "wait for events", tuple[float], tuple[GpuEvent, ...]
)
SET_MIG_MODE: Final[Call[ModeChange]] = Call(
    "set_mig_mode", "set the MIG mode", tuple[GpuUuid, bool], ModeChange, _CHANGE_S
)
CREATE_GI: Final[Call[int]] = Call("create_gpu_instance", "create a GI", tuple[MigSpec], int, _CHANGE_S)
CREATE_CI: Final[Call[ComputeInstance]] = Call(
    "create_compute_instance",
    "create a CI",
    tuple[GpuUuid, int, Placement | None],
    ComputeInstance,
    _CHANGE_S,
)
DESTROY_CI: Final[Call[None]] = Call(
    "destroy_compute_instance", "destroy a CI", tuple[GpuUuid, int, int], NoneType, _CHANGE_S
)
DESTROY_GI: Final[Call[None]] = Call(
    "destroy_gpu_instance", "destroy a GI", tuple[GpuUuid, int], NoneType, _CHANGE_S
)

CALLS: Final[Mapping[str, Call[Any]]] = {
    call.name: call
    for call in (
        *(OPEN, VERSIONS, COUNT, GPU, ADDRESS, MINOR, MIG_MODE, COMPUTE_MODE, SET_COMPUTE_MODE, PROFILES),
        *(GPU_INSTANCES, PROCESSES, VITALS, WATCH_EVENTS, WAIT_EVENTS),
        *(SET_MIG_MODE, CREATE_GI, CREATE_CI, DESTROY_CI, DESTROY_GI),
    )
}

MOST_BYTES: Final = 2**20
"""Far more than any message: the profiles of one GPU are about 10 kB."""


class Question(msgspec.Struct, array_like=True, frozen=True):
    """A call with its arguments. Shape: ``number`` comes back with the answer."""

    number: int
    name: str
    arguments: msgspec.Raw


class Result(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """What a call returned."""

    number: int
    value: msgspec.Raw


class Refusal(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """The ``HardwareError`` that a call raised. Shape: ``kind`` is the name of its class."""

    number: int
    kind: str
    attempted: str
    subject: str
    reason: str
    remedy: str
    errno: int | None = None

    @classmethod
    def of(cls, number: int, error: HardwareError) -> Refusal:
        """Return the message for an error."""
        said = error.attempted, error.subject, error.reason, error.remedy
        return cls(number, type(error).__name__, *said, error.errno)

    def error(self) -> HardwareError:
        """Return the error; one of a class that this side does not know is a ``HardwareFault``."""
        kind = _KINDS.get(self.kind, HardwareFault)
        return kind(self.attempted, self.subject, self.reason, self.remedy, self.errno)


_KINDS: Final = {
    kind.__name__: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, HardwareError) and kind is not errors.Unanswered
}
Answer = Result | Refusal
_ANSWERS: Final = msgspec.msgpack.Decoder(Answer)
_QUESTIONS: Final = msgspec.msgpack.Decoder(Question)
_ARGUMENTS: Final = {call.name: msgspec.msgpack.Decoder(call.arguments) for call in CALLS.values()}
_VALUES: Final = {call.name: msgspec.msgpack.Decoder(call.answer) for call in CALLS.values()}


def encode_question(number: int, call: Call[Any], arguments: tuple[object, ...]) -> bytes:
    """Return the message that asks a call."""
    packed = msgspec.Raw(msgspec.msgpack.encode(arguments))
    return msgspec.msgpack.encode(Question(number, call.name, packed))


def decode_question(data: bytes) -> tuple[int, Call[Any], tuple[Any, ...]]:
    """Return number, call and arguments. Raises: ValueError, KeyError for what is no question."""
    question = _QUESTIONS.decode(data)
    call = CALLS[question.name]
    return question.number, call, _ARGUMENTS[call.name].decode(question.arguments)


def encode_answer(answer: Answer) -> bytes:
    """Return the message of an answer."""
    return msgspec.msgpack.encode(answer)


def decode_answer(data: bytes) -> Answer:
    """Return an answer. Raises: ValueError for what is none."""
    answer: Answer = _ANSWERS.decode(data)
    return answer


def result(number: int, value: object) -> Result:
    """Return the answer of a call that returned."""
    return Result(number, msgspec.Raw(msgspec.msgpack.encode(value)))


def value_of(call: Call[Answered], answer: Result) -> Answered:
    """Return what a call returned. Raises: HardwareFault where it is not of the call's type."""
    try:
        value: Answered = _VALUES[call.name].decode(answer.value)
    except ValueError as error:
        reason = f"the answer is not of the expected type: {error}"
        raise HardwareFault(call.attempted, "this node", reason) from error
    return value
