"""Any expression, read by Google's parser and type checker, with the rules that Kubernetes adds.

It is loaded with the first expression that is not plain: with protobuf and the declarations of all functions
it is a tenth of a second, which a command does not have.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from cel_expr_python import cel

from scheduler_core.cel.errors import CompileError
from scheduler_core.cel.parse.decode import TOO_DEEP, decode
from scheduler_core.cel.parse.environment import new_environment
from scheduler_core.cel.parse.rules import check_rules
from scheduler_core.cel.parse.text import prepared
from scheduler_core.cel.tree import Node

_PROBLEM: Final = re.compile(r"ERROR: <input>:(\d+:\d+: [^\n]*)")
_TOO_DEEP: Final = re.compile(r"recursion (?:depth|limit)", re.IGNORECASE)


@cache
def _environment() -> cel.Env:
    return new_environment()


def checked(text: str) -> Node:
    """Return the tree of an expression. Raises: CompileError with what is wrong and where (line:column)."""
    try:
        serialized = _environment().compile(prepared(text)).serialize()
    except (RuntimeError, ValueError) as error:
        raise CompileError(_reason(str(error))) from None
    node = decode(serialized)
    check_rules(node)
    return node


def _reason(answer: str) -> str:
    """Return the problems that the checker found, in one line."""
    if _TOO_DEEP.search(answer):
        return TOO_DEEP
    problems = _PROBLEM.findall(answer)
    return "; ".join(problems) if problems else " ".join(answer.split())
