"""Parse and check a text: the reader of plain expressions, and for any other Google's parser and checker."""

from __future__ import annotations

from scheduler_core.base.limits import EXPRESSION_LENGTH
from scheduler_core.cel.errors import CompileError
from scheduler_core.cel.parse.plain import plain
from scheduler_core.cel.tree import Node


def check(text: str) -> Node:
    """Parse and check an expression of any type.

    Raises: CompileError with what is wrong and where (line:column).
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise CompileError("it is not valid Unicode") from None
    if size > EXPRESSION_LENGTH:
        raise CompileError(f"it has {size} bytes; at most {EXPRESSION_LENGTH}")
    node = plain(text)
    if node is not None:
        return node
    from scheduler_core.cel.parse.checker import checked  # nearly all expressions are plain

    return checked(text)
