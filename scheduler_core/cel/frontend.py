"""From text to a checked tree: parser and type checker, and the rules that Kubernetes adds to theirs.

What leaves is well typed, with a result that is a bool or known at run time only.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from cel_expr_python import cel

from scheduler_core.base.limits import EXPRESSION_LENGTH
from scheduler_core.cel.decode import TOO_DEEP, decode
from scheduler_core.cel.environment import new_environment
from scheduler_core.cel.errors import CompileError
from scheduler_core.cel.plain import plain
from scheduler_core.cel.rules import check_rules
from scheduler_core.cel.tree import BOOL, DYN, FREE, CelType, Node

_PROBLEM: Final = re.compile(r"ERROR: <input>:(\d+:\d+: [^\n]*)")
# ``exists_one`` with two variables is known to the checker as ``existsOne`` only. Strings are passed over.
_ALIAS: Final = re.compile(
    r"""(?P<string>[rR]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*)"""
    r"|(?P<macro>\.\s*)exists_one(?P<rest>\s*\(\s*[A-Za-z_]\w*\s*,\s*[A-Za-z_]\w*\s*,)",
    re.DOTALL,
)
_TOO_DEEP: Final = re.compile(r"recursion (?:depth|limit)", re.IGNORECASE)


@cache
def _environment() -> cel.Env:
    return new_environment()


def check(text: str) -> Node:
    """Parse and check an expression.

    Raises: CompileError with what is wrong and where (line:column).
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise CompileError("it is not valid Unicode") from None
    if size > EXPRESSION_LENGTH:
        raise CompileError(f"it has {size} bytes; at most {EXPRESSION_LENGTH}")
    node = plain(text)
    return _checked(text) if node is None else node


def _checked(text: str) -> Node:
    """Have an expression parsed and checked by those who know the whole language."""
    try:
        read = _ALIAS.sub(_renamed, text) if "exists_one" in text else text
        serialized = _environment().compile(read).serialize()
    except (RuntimeError, ValueError) as error:
        raise CompileError(_reason(str(error))) from None
    node = decode(serialized)
    _check_result(node.type)
    check_rules(node)
    return node


def _renamed(match: re.Match[str]) -> str:
    return match["string"] or f"{match['macro']}existsOne{match['rest']}"


def _check_result(type_: CelType) -> None:
    if type_ not in (BOOL, DYN, FREE):
        raise CompileError(f"must evaluate to bool or the unknown type, not {type_}")


def _reason(answer: str) -> str:
    """Return the problems that the checker found, in one line."""
    if _TOO_DEEP.search(answer):
        return TOO_DEEP
    problems = _PROBLEM.findall(answer)
    return "; ".join(problems) if problems else " ".join(answer.split())
