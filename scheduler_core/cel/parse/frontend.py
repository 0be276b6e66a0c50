"""Parse and check a text: the parser, the type checker, and the rules that Kubernetes adds.

The result is a well-typed tree whose value is a bool, or of a type known at run time only.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from cel_expr_python import cel

from scheduler_core.base.limits import EXPRESSION_LENGTH
from scheduler_core.cel.errors import CompileError
from scheduler_core.cel.parse.decode import TOO_DEEP, decode
from scheduler_core.cel.parse.environment import new_environment
from scheduler_core.cel.parse.plain import plain
from scheduler_core.cel.parse.rules import check_rules
from scheduler_core.cel.parse.text import prepared
from scheduler_core.cel.tree import BOOL, DYN, FREE, CelType, Node

_PROBLEM: Final = re.compile(r"ERROR: <input>:(\d+:\d+: [^\n]*)")
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
    """Return the tree of any expression, from Google's parser and type checker."""
    try:
        serialized = _environment().compile(prepared(text)).serialize()
    except (RuntimeError, ValueError) as error:
        raise CompileError(_reason(str(error))) from None
    node = decode(serialized)
    _check_result(node.type)
    check_rules(node)
    return node


def _check_result(type_: CelType) -> None:
    if type_ not in (BOOL, DYN, FREE):
        raise CompileError(f"must evaluate to bool or the unknown type, not {type_}")


def _reason(answer: str) -> str:
    """Return the problems that the checker found, in one line."""
    if _TOO_DEEP.search(answer):
        return TOO_DEEP
    problems = _PROBLEM.findall(answer)
    return "; ".join(problems) if problems else " ".join(answer.split())
