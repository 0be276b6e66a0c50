"""An overload: its declaration for the type checker and its meaning, in one place.

A signature is written as in the checker's configuration: ``quantity(string)`` for a function,
``string.find(string)`` for a member, ``~A`` for a type parameter, ``ip\\.isCanonical(string)`` for a
name with a dot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.errors import no_such_overload
from scheduler_core.cel.values import python_types

_SIGNATURE: Final = re.compile(r"(?:(?P<receiver>[^(]*?)(?<!\\)\.)?(?P<name>(?:\w|\\\.|@)+)\((?P<rest>.*)\)")
_ANY: Final = ("dyn", "~")
_SHORT: Final = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}

Run = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Function:
    """What a call does with its arguments. Shape: with ``counts`` it takes the ``Work`` before them."""

    run: Run
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Overload:
    """One meaning of a function.

    Shape: ``run`` takes the receiver of a member first, and before it the ``Work`` where ``counts`` is
           True: where the values decide how much there is to do. ``parameters`` are the types of the
           arguments, the receiver first; ``accepts`` has the Python types of each, None where it takes any.
    """

    id: str
    signature: str
    returns: str
    run: Run
    counts: bool = False
    name: str = field(init=False)
    parameters: tuple[str, ...] = field(init=False)
    accepts: tuple[frozenset[type] | None, ...] = field(init=False)

    def __post_init__(self) -> None:
        match = _SIGNATURE.fullmatch(self.signature)
        assert match is not None, self.signature
        parameters = [match["receiver"]] if match["receiver"] else []
        parameters += _split(match["rest"])
        object.__setattr__(self, "name", match["name"].replace("\\", ""))
        object.__setattr__(self, "parameters", tuple(parameters))
        object.__setattr__(self, "accepts", tuple(map(_accepted, parameters)))

    def takes(self, arguments: Sequence[Any]) -> bool:
        """Whether the arguments have the types of the parameters."""
        return len(arguments) == len(self.accepts) and all(
            accepted is None or type(argument) in accepted
            for argument, accepted in zip(arguments, self.accepts, strict=True)
        )

    @property
    def has_known_result(self) -> bool:
        """Whether the result is always of the type that ``returns`` names."""
        return not self.returns.startswith(_ANY)


def unguarded(overload: Overload) -> Function:
    """Return the function of an overload, for arguments whose types are known to be right."""
    return Function(overload.run, overload.counts)


def guarded(overload: Overload) -> Function:
    """Return the function of an overload, for arguments whose types are not known.

    It raises an EvaluationError for arguments that the overload does not take.
    """
    match overload.accepts:
        case (frozenset() as wanted,):
            return Function(_guarded_unary(overload, wanted), overload.counts)
        case (frozenset() as first, frozenset() as second):
            return Function(_guarded_binary(overload, first, second), overload.counts)
        case _:
            return dispatcher(overload.name, (overload,))


def _guarded_unary(overload: Overload, wanted: frozenset[type]) -> Run:
    run, name = overload.run, overload.name

    def unary(value: Any) -> Any:
        if type(value) in wanted:
            return run(value)
        raise no_such_overload(name, value)

    def counting(work: Any, value: Any) -> Any:
        if type(value) in wanted:
            return run(work, value)
        raise no_such_overload(name, value)

    return counting if overload.counts else unary


def _guarded_binary(overload: Overload, first: frozenset[type], second: frozenset[type]) -> Run:
    run, name = overload.run, overload.name

    def binary(left: Any, right: Any) -> Any:
        if type(left) in first and type(right) in second:
            return run(left, right)
        raise no_such_overload(name, left, right)

    def counting(work: Any, left: Any, right: Any) -> Any:
        if type(left) in first and type(right) in second:
            return run(work, left, right)
        raise no_such_overload(name, left, right)

    return counting if overload.counts else binary


def dispatcher(name: str, overloads: tuple[Overload, ...]) -> Function:
    """Return a function that chooses among overloads by the types of its arguments.

    It raises an EvaluationError where no overload takes them.
    """
    counts = any(overload.counts for overload in overloads)

    def dispatch(*arguments: Any) -> Any:
        for overload in overloads:
            if overload.takes(arguments):
                return overload.run(*arguments)
        raise no_such_overload(name, *arguments)

    def counting(work: Any, *arguments: Any) -> Any:
        for overload in overloads:
            if overload.takes(arguments):
                return overload.run(work, *arguments) if overload.counts else overload.run(*arguments)
        raise no_such_overload(name, *arguments)

    return Function(counting if counts else dispatch, counts)


def _split(parameters: str) -> list[str]:
    """Split at the commas outside angle brackets."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(parameters):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(parameters[start:index])
            start = index + 1
    return [part.strip() for part in (*parts, parameters[start:]) if part.strip()]


def _accepted(parameter: str) -> frozenset[type] | None:
    name = parameter.partition("<")[0]
    if name.startswith(_ANY):
        return None
    return frozenset(python_types(_SHORT.get(name, name)))
