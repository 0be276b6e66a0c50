"""An overload: its declaration for the type checker and its meaning, in one place.

A signature is written as the checker's configuration has it: ``quantity(string)`` for a function,
``string.find(string)`` for a member, ``~A`` for a type parameter, ``ip\\.isCanonical(string)`` for a
name with a dot.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from scheduler_core.cel.errors import no_such_overload
from scheduler_core.cel.values import python_types

_SIGNATURE: Final = re.compile(r"(?:(?P<receiver>[^(]*?)(?<!\\)\.)?(?P<name>(?:\w|\\\.|@)+)\((?P<rest>.*)\)")
_ANY: Final = ("dyn", "~")
_SHORT: Final = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}

Run = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Overload:
    """One meaning of a function.

    Shape: ``run`` takes the receiver of a member first; ``accepts`` has the Python types of each
           parameter, None where it takes any; ``is_known`` says that the checker declares it itself.
    """

    id: str
    signature: str
    returns: str
    run: Run
    name: str = field(init=False)
    accepts: tuple[frozenset[type] | None, ...] = field(init=False)

    def __post_init__(self) -> None:
        match = _SIGNATURE.fullmatch(self.signature)
        assert match is not None, self.signature
        parameters = [match["receiver"]] if match["receiver"] else []
        parameters += _split(match["rest"])
        object.__setattr__(self, "name", match["name"].replace("\\", ""))
        object.__setattr__(self, "accepts", tuple(map(_accepted, parameters)))

    def takes(self, arguments: tuple[Any, ...]) -> bool:
        """Whether the arguments have the types of the parameters."""
        return len(arguments) == len(self.accepts) and all(
            accepted is None or type(argument) in accepted
            for argument, accepted in zip(arguments, self.accepts, strict=True)
        )


def guarded(overload: Overload) -> Run:
    """Return the function of an overload, for arguments whose types are not known.

    Raises: EvaluationError where it does not take them.
    """
    run, name = overload.run, overload.name
    match overload.accepts:
        case (frozenset() as wanted,):

            def unary(value: Any) -> Any:
                if type(value) in wanted:
                    return run(value)
                raise no_such_overload(name, value)

            return unary
        case (frozenset() as wanted, frozenset() as wanted_too):

            def binary(left: Any, right: Any) -> Any:
                if type(left) in wanted and type(right) in wanted_too:
                    return run(left, right)
                raise no_such_overload(name, left, right)

            return binary
        case _:
            return dispatcher(name, (overload,))


def dispatcher(name: str, overloads: tuple[Overload, ...]) -> Run:
    """Return a function that chooses among overloads by the types of its arguments.

    Raises: EvaluationError where none takes them.
    """

    def dispatch(*arguments: Any) -> Any:
        for overload in overloads:
            if overload.takes(arguments):
                return overload.run(*arguments)
        raise no_such_overload(name, *arguments)

    return dispatch


def _split(parameters: str) -> list[str]:
    """Split at the commas that stand outside angle brackets."""
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
