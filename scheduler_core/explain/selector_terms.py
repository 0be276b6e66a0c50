"""Takes a selector apart where ``&&`` joins its terms, so that a reader sees which term leaves no device.

Takes a text; returns selectors. Each term is an expression of its own, and all of them together mean what the
selector means. A selector that cannot be taken apart is returned whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.rules.selectors import Selector, compile_selector

_PIECE: Final = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<joint>&&)|\.\?|(?P<open>\[\?|[(\[{])|(?P<close>[)\]}])|(?P<loose>\|\||\?)|(?P<raw>["'\\])|.""",
    re.DOTALL,
)


def terms_of(text: str) -> tuple[Selector, ...]:
    """Return the terms of an expression that compiles, in order; at least one."""
    pieces = tuple(one.strip() for one in _split(text))
    try:
        return tuple(map(compile_selector, pieces))
    except SelectorError:  # a term alone may be no condition
        return (compile_selector(text),)


def _split(text: str) -> Iterator[str]:
    """Yield the parts between ``&&`` outside brackets; the whole text where something binds less closely."""
    ends, depth = [], 0
    for piece in _PIECE.finditer(text):
        match piece.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth -= 1
            case "joint" if depth == 0:
                ends.append(piece.span())
            case ("loose" | "raw") as kind if depth == 0 or kind == "raw":
                ends = []
                break
    start = 0
    for end, following in ends:
        yield text[start:end]
        start = following
    yield text[start:]
