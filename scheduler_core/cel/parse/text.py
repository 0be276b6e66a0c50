"""What is done with the text of an expression before the parser sees it.

``exists_one`` with two variables is known to the checker as ``existsOne`` only. ``a.optMap(x, b)`` expands to
an expression that contains ``a`` twice: a chain of twenty such calls has a million times the nodes of its
first one, and the parser would try to make them all. Strings and comments are passed over.
"""

from __future__ import annotations

import re
from typing import Final

from scheduler_core.base.limits import EXPRESSION_LENGTH
from scheduler_core.cel.errors import CompileError

_RAW: Final = r"""[bB]?[rR](?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n\r]*"|'[^'\n\r]*')"""
_ESCAPED: Final = (
    r"""[bB]?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}"""
    r"""|"(?:\\.|[^"\\\n\r])*"|'(?:\\.|[^'\\\n\r])*')"""
)
STRING: Final = rf"{_RAW}|{_ESCAPED}|//[^\n]*"
"""The pattern of a string or a comment."""
_ALIAS: Final = re.compile(
    rf"(?P<string>{STRING})"
    r"|(?P<macro>\.\s*)exists_one(?P<rest>\s*\(\s*[A-Za-z_]\w*\s*,\s*[A-Za-z_]\w*\s*,)",
    re.DOTALL,
)
_TOKEN: Final = re.compile(
    rf"(?P<string>{STRING})|(?P<twice>\bopt(?:Flat)?Map\b)|(?P<open>[(\[{{])|(?P<close>[)\]}}])"
    r"|(?P<other>\.\?|\.|[A-Za-z_0-9]+)|(?P<between>[^\s\w])",
    re.DOTALL,
)
_DOUBLING: Final = ("optMap", "optFlatMap")


def prepared(text: str) -> str:
    """Return the text as the parser takes it.

    Raises: CompileError where its macros expand to too much.
    """
    if any(name in text for name in _DOUBLING) and expanded_size(text) > EXPRESSION_LENGTH:
        raise CompileError(f"its calls of optMap expand to more than {EXPRESSION_LENGTH} tokens")
    return _ALIAS.sub(_renamed, text) if "exists_one" in text else text


def _renamed(match: re.Match[str]) -> str:
    return match["string"] or f"{match['macro']}existsOne{match['rest']}"


def expanded_size(text: str) -> int:
    """Return at least how many tokens a text has once ``optMap`` and ``optFlatMap`` are expanded.

    Each of them doubles the operand before it: the names, fields, indexes and calls up to the operator,
    comma or bracket on its left.
    """
    whole, operand = [0], [0]
    for match in _TOKEN.finditer(text):
        match match.lastgroup:
            case "open":
                whole.append(0)
                operand.append(0)
            case "close" if len(whole) > 1:
                inside = whole.pop() + operand.pop()
                operand[-1] += inside + 1
            case "twice":
                operand[-1] *= 2
            case "between":
                whole[-1] += operand[-1] + 1
                operand[-1] = 0
            case _:
                operand[-1] += 1
    return sum(whole) + sum(operand)
