"""Functions on strings. Positions count code points.

Source: CEL standard definitions; cel-go ``ext/strings``, version 2; the Kubernetes regex library.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.cel.errors import EvaluationError, shown
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.work import Work

_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}
_SPACE: Final = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_ESCAPES: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def char_at(text: str, index: int) -> str:
    """Return the character at ``index``; the empty string just behind the last."""
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def index_of(work: Work, text: str, wanted: str, offset: int = 0) -> int:
    """Return where ``wanted`` is first found from ``offset`` on, -1 where it is not."""
    work.search(len(text), len(wanted))
    if offset < 0:
        raise _out_of_range(offset)
    return min(offset, len(text)) if not wanted else text.find(wanted, offset)


def last_index_of(work: Work, text: str, wanted: str) -> int:
    """Return where ``wanted`` is last found, -1 where it is not."""
    work.search(len(text), len(wanted))
    return text.rfind(wanted)


def last_index_of_from(work: Work, text: str, wanted: str, offset: int) -> int:
    """Return where ``wanted`` is last found at or before ``offset``, -1 where it is not."""
    work.search(len(text), len(wanted))
    if offset < 0:
        raise _out_of_range(offset)
    if not wanted:
        return min(offset, len(text))
    return -1 if offset >= len(text) else text.rfind(wanted, 0, offset + len(wanted))


def replace(work: Work, text: str, old: str, new: str, limit: int = -1) -> str:
    """Replace the first ``limit`` occurrences, all of them where it is negative."""
    work.search(len(text), len(old))
    count = len(text) + 1 if not old else text.count(old)
    if limit >= 0:
        count = min(count, limit)
    work.write(len(text) + count * (len(new) - len(old)))
    return text.replace(old, new, count)


def split(work: Work, text: str, separator: str, limit: int = -1) -> list[str]:
    """Split into at most ``limit`` parts, into all where it is negative; characters where no separator."""
    work.search(len(text), len(separator))
    count = text.count(separator) + 1 if separator else len(text)
    work.make(count if limit < 0 else min(count, limit))
    work.write(len(text))
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit > len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def substring(work: Work, text: str, start: int) -> str:
    """Return what is left from ``start`` on."""
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    work.write(len(text) - start)
    return text[start:]


def substring_range(work: Work, text: str, start: int, end: int) -> str:
    """Return the characters from ``start`` to before ``end``."""
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end > len(text):
        raise _out_of_range(end)
    work.write(end - start)
    return text[start:end]


def join(work: Work, parts: list[Any], separator: str = "") -> str:
    """Join strings."""
    work.spend(len(parts))
    for part in parts:
        if type(part) is not str:
            raise EvaluationError(f"join: invalid input: {shown(part)}")
    work.write(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def quote(work: Work, text: str) -> str:
    """Return the string in double quotes, with escapes."""
    work.write(2 * len(text))
    return f'"{text.translate(_ESCAPES)}"'


def trim(work: Work, text: str) -> str:
    """Return the string without white space (of Unicode) around it."""
    work.write(len(text))
    return text.strip(_SPACE)


def contains(work: Work, text: str, part: str) -> bool:
    """Whether ``text`` contains ``part``."""
    work.search(len(text), len(part))
    return part in text


def starts_with(work: Work, text: str, part: str) -> bool:
    """Whether ``text`` starts with ``part``."""
    work.read(len(part))
    return text.startswith(part)


def ends_with(work: Work, text: str, part: str) -> bool:
    """Whether ``text`` ends with ``part``."""
    work.read(len(part))
    return text.endswith(part)


def lower_ascii(work: Work, text: str) -> str:
    """Replace A to Z by a to z."""
    work.write(len(text))
    return text.translate(_LOWER)


def upper_ascii(work: Work, text: str) -> str:
    """Replace a to z by A to Z."""
    work.write(len(text))
    return text.translate(_UPPER)


OVERLOADS: Final = (
    Overload("size_string", "size(string)", "int", len),
    Overload("string_size", "string.size()", "int", len),
    Overload("size_bytes", "size(bytes)", "int", len),
    Overload("bytes_size", "bytes.size()", "int", len),
    Overload("contains_string", "string.contains(string)", "bool", contains, counts=True),
    Overload("ends_with_string", "string.endsWith(string)", "bool", ends_with, counts=True),
    Overload("starts_with_string", "string.startsWith(string)", "bool", starts_with, counts=True),
    Overload("string_char_at_int", "string.charAt(int)", "string", char_at),
    Overload("string_index_of_string", "string.indexOf(string)", "int", index_of, counts=True),
    Overload("string_index_of_string_int", "string.indexOf(string,int)", "int", index_of, counts=True),
    Overload("string_last_index_of_string", "string.lastIndexOf(string)", "int", last_index_of, counts=True),
    Overload(
        "string_last_index_of_string_int",
        "string.lastIndexOf(string,int)",
        "int",
        last_index_of_from,
        counts=True,
    ),
    Overload("string_lower_ascii", "string.lowerAscii()", "string", lower_ascii, counts=True),
    Overload("string_upper_ascii", "string.upperAscii()", "string", upper_ascii, counts=True),
    Overload("string_replace_string_string", "string.replace(string,string)", "string", replace, counts=True),
    Overload(
        "string_replace_string_string_int",
        "string.replace(string,string,int)",
        "string",
        replace,
        counts=True,
    ),
    Overload("string_split_string", "string.split(string)", "list<string>", split, counts=True),
    Overload("string_split_string_int", "string.split(string,int)", "list<string>", split, counts=True),
    Overload("string_substring_int", "string.substring(int)", "string", substring, counts=True),
    Overload("string_substring_int_int", "string.substring(int,int)", "string", substring_range, counts=True),
    Overload("string_trim", "string.trim()", "string", trim, counts=True),
    Overload("strings_quote", r"strings\.quote(string)", "string", quote, counts=True),
    Overload("list_join", "list<string>.join()", "string", join, counts=True),
    Overload("list_join_string", "list<string>.join(string)", "string", join, counts=True),
)
