"""``"...".format([...])``: clauses such as ``%s``, ``%d`` and ``%.2f``.

Fixed-point numbers have their thousands grouped, scientific ones a power of ten, as the English locale of
cel-go prints them. Source: cel-go ``ext/strings`` up to version 3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.library.numbers import bool_text, double_text, string_of_bytes
from scheduler_core.cel.library.time_texts import duration_text, timestamp_text
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import Domains, Duration, Timestamp, TypeValue, Uint, key_value, type_name
from scheduler_core.cel.work import Work

_CLAUSE: Final = re.compile(r"%(?:\.(?P<precision>[0-9]*))?(?P<kind>.?)", re.DOTALL)
_CLAUSE_WORK: Final = 10
_STRUCTURES: Final = frozenset({list, dict, Domains})
_KEYS: Final = frozenset({bool, int, Uint, str})
_PRECISION: Final = 6
_MAX_PRECISION: Final = 1000
_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SPECIAL_TEXTS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True, slots=True)
class Clause:
    """One ``%`` clause, after the text before it. Shape: ``kind`` is a letter, empty for text alone."""

    text: str
    kind: str = ""
    precision: int = _PRECISION


def clauses(template: str, available: int) -> Iterator[Clause]:
    """Yield the clauses of a template with ``available`` arguments; text before ``%%`` is one of its own.

    Raises: EvaluationError where it is malformed, or asks for more arguments.
    """
    position, used = 0, 0
    while (start := template.find("%", position)) >= 0:
        text = template[position:start]
        if template.startswith("%%", start):
            yield Clause(text + "%")
            position = start + 2
            continue
        match = _CLAUSE.match(template, start)
        assert match is not None
        if used >= available:
            raise EvaluationError(f"index {used} out of range")
        yield Clause(text, _kind(match), _precision(match))
        position, used = match.end(), used + 1
    yield Clause(template[position:])


def _kind(match: re.Match[str]) -> str:
    if not match["kind"]:
        raise EvaluationError("unexpected end of string")
    if match["kind"] not in _WRITERS:
        raise EvaluationError(f'could not parse formatting clause: unrecognized "{match["kind"]}"')
    return match["kind"]


def _precision(match: re.Match[str]) -> int:
    digits = match["precision"]
    if digits is None:
        return _PRECISION
    if not digits or len(digits) > 4 or int(digits) > _MAX_PRECISION:
        raise EvaluationError(f"could not parse formatting clause: precision {digits[:8]!r}")
    return int(digits)


def format_text(work: Work, template: str, arguments: list[Any]) -> str:
    """Replace the clauses by the arguments."""
    work.read(len(template))
    result: list[str] = []
    values = iter(arguments)
    for clause in clauses(template, len(arguments)):
        work.spend(_CLAUSE_WORK)
        result.append(clause.text)
        if clause.kind:
            result.append(_WRITERS[clause.kind](work, next(values), clause.precision))
        work.write(sum(map(len, result[-2:])))
    return "".join(result)


def _refused(what: str, value: Any) -> EvaluationError:
    return EvaluationError(f"error during formatting: {what}, was given {type_name(value)}")


def _string(work: Work, value: Any, _precision: int = 0) -> str:
    if type(value) in _STRUCTURES:
        return _nested(work, value, 0)
    if isinstance(value, bytes):
        return string_of_bytes(work, value)
    write = _TEXTS.get(type(value))
    if write is None:
        raise _refused("string clause can only be used on values with a text", value)
    return write(value)


def _nested(work: Work, value: Any, depth: int) -> str:
    """Write a value inside a list or map: as a CEL literal."""
    work.descend(depth)
    match value:
        case list():
            work.make(len(value))  # each part is a text of its own until they are joined
            parts = [_nested(work, part, depth + 1) for part in value]
            work.write(_written(parts))
            return "[" + ", ".join(parts) + "]"
        case dict() | Domains():
            return _nested_map(work, value, depth)
        case str():
            work.write(2 * len(value))
            return _quoted(value)
        case bytes():
            return "b" + _quoted(string_of_bytes(work, value))
        case Duration() | Timestamp():
            return f'{type(value).__name__.lower()}("{_string(work, value)}")'
        case float():
            return f"{value:.6f}" if math.isfinite(value) else f'"{double_text(value)}"'
        case _:
            return _string(work, value)


def _nested_map(work: Work, value: dict[Any, Any], depth: int) -> str:
    work.make(2 * len(value))
    keys = list(map(key_value, value))
    for key in keys:
        if type(key) not in _KEYS:
            raise _refused("no formatting function for this type of a key of a map", key)
    written = [
        (_nested(work, key, depth + 1), _nested(work, part, depth + 1))
        for key, part in zip(keys, value.values(), strict=True)
    ]
    work.write(sum(map(_written, written)))
    return "{" + ", ".join(f"{key}:{part}" for key, part in sorted(written)) + "}"


def _written(parts: Sequence[str]) -> int:
    """Return the length of some texts, with what stands between them."""
    return sum(map(len, parts)) + 2 * len(parts)


def _quoted(text: str) -> str:
    """Quote as Go's ``%q`` does."""
    named = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
    named |= {"\\": "\\\\", '"': '\\"'}

    def shown(character: str) -> str:
        if character in named:
            return named[character]
        if character.isprintable():
            return character
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return '"' + "".join(map(shown, text)) + '"'


def _decimal(_work: Work, value: Any, _precision: int) -> str:
    if type(value) in (int, Uint):
        return str(int(value))
    raise _refused("decimal clause can only be used on integers", value)


def _fixed(_work: Work, value: Any, precision: int) -> str:
    number = _real("fixed-point", value)
    return _special(number) or f"{number:,.{precision}f}"


def _scientific(_work: Work, value: Any, precision: int) -> str:
    """Write a power of ten; a precision is a width here, an oddity of cel-go."""
    number = _real("scientific", value)
    mantissa, _, exponent = f"{number:.{_PRECISION}e}".partition("e")
    power = f"{mantissa}×10{exponent.removeprefix('+').translate(_SUPERSCRIPT)}"
    return (_special(number) or power).rjust(precision)


def _real(clause: str, value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is str and value in _SPECIAL_TEXTS:
        return _SPECIAL_TEXTS[value]
    raise _refused(f"{clause} clause can only be used on doubles", value)


def _special(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "" if math.isfinite(number) else "∞" if number > 0 else "-∞"


def _binary(_work: Work, value: Any, _precision: int) -> str:
    if isinstance(value, int):
        return f"{int(value):b}"
    raise _refused("only integers and bools can be formatted as binary", value)


def _octal(_work: Work, value: Any, _precision: int) -> str:
    if type(value) in (int, Uint):
        return f"{int(value):o}"
    raise _refused("octal clause can only be used on integers", value)


def _hexadecimal(work: Work, value: Any, _precision: int) -> str:
    match value:
        case str():
            work.write(4 * len(value))
            return value.encode(errors="replace").hex()
        case bytes():
            work.write(2 * len(value))
            return value.hex()
        case int() if not isinstance(value, bool):
            return f"{int(value):x}"
        case _:
            raise _refused("only integers, bytes and strings can be formatted as hex", value)


_WRITERS: Final[dict[str, Callable[[Work, Any, int], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hexadecimal,
    "X": lambda work, value, precision: _hexadecimal(work, value, precision).upper(),
    "o": _octal,
}
_TEXTS: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda _value: "null",
    str: str,
    bool: bool_text,
    int: str,
    Uint: str,
    float: double_text,
    Duration: duration_text,
    Timestamp: timestamp_text,
    TypeValue: lambda value: value.name,
}
TAKES: Final[dict[str, frozenset[str]]] = {
    "d": frozenset({"int", "uint"}),
    "f": frozenset({"double", "string"}),
    "e": frozenset({"double", "string"}),
    "b": frozenset({"int", "uint", "bool"}),
    "x": frozenset({"int", "uint", "string", "bytes"}),
    "X": frozenset({"int", "uint", "string", "bytes"}),
    "o": frozenset({"int", "uint"}),
    "s": frozenset(
        {"list", "map", "int", "uint", "double", "bool", "string", "bytes", "type", "null_type"}
        | {"google.protobuf.Timestamp", "google.protobuf.Duration"}
    ),
}
"""The types that each clause takes, where they are known at compile time."""

OVERLOADS: Final = (
    Overload("string_format", "string.format(list<dyn>)", "string", format_text, counts=True),
)
