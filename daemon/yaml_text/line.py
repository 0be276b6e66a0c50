"""What one line of YAML says, where it is a key or an item of a list with at most one scalar behind it."""

from __future__ import annotations

import re
from typing import Any, Final

from daemon.yaml_text.unusual import Unusual
from daemon.yaml_text.words import word

_SINGLE: Final = "'[ -&(-~]*'"
_DOUBLE: Final = r'"[ !#-\[\]-~]*"'
_PLAIN: Final = r"(?:[A-Za-z0-9_./+(~^\\;<=$]|-[A-Za-z0-9.])(?:[!-9;-~]|:(?! |$)| ++(?!#|$))*+"
_SCALAR: Final = rf"\{{\}}|\[\]|{_SINGLE}|{_DOUBLE}|{_PLAIN}"
_KEY: Final = r"[A-Za-z0-9_/][A-Za-z0-9_./-]{0,200}|'[ -&(-~]{0,200}'"
_LINE: Final = re.compile(rf"( *+)(- )?(?:({_KEY}):(?: ({_SCALAR}))?|({_SCALAR}))")
_NOTHING: Final = re.compile(" *#[ -~]*|")

Step = tuple[int, bool, str | None, Any]
"""What a line says: column, whether it begins an item, key, value (``dict``, ``list``: an empty one)."""
SKIP: Final[Step] = (-1, False, None, None)
BOUNDARY: Final[Step] = (-2, False, None, None)
"""The line between two documents."""
OPEN: Final = object()
"""The value of a key whose value comes in the next lines, or is null."""


def step_of(line: str) -> Step:
    """Return what a line says. Raises: Unusual."""
    if line == "---":
        return BOUNDARY
    if _NOTHING.fullmatch(line):
        return SKIP
    found = _LINE.fullmatch(line)
    if found is None:
        raise Unusual
    indent, item, key, value, element = found.groups()
    if key is None:
        if item is None:
            raise Unusual
        return len(indent), True, None, _value(element)
    name = _value(key)
    if type(name) is not str:
        raise Unusual
    return len(indent), item is not None, name, OPEN if value is None else _value(value)


def _value(text: str) -> Any:
    """Return the value of a scalar; the type of an empty collection. Raises: Unusual."""
    match text[0]:
        case "{":
            return dict
        case "[":
            return list
        case "'" | '"':
            return text[1:-1]
        case _:
            return word(text)
