"""Which function a call means: an operator, or a function of the libraries.

Plain expressions have operators alone, so the libraries are loaded with the first call of one of theirs.
"""

from __future__ import annotations

from scheduler_core.cel.library.operators import OPERATORS
from scheduler_core.cel.overloads import Function
from scheduler_core.cel.tree import Call
from scheduler_core.cel.values import TypeValue, type_name


def function_of(node: Call) -> Function:
    """Return what a call does with its arguments."""
    if node.function in OPERATORS:
        return OPERATORS[node.function]
    if node.function == "dyn":
        return Function(lambda value: value)
    if node.function == "type":
        return Function(lambda value: TypeValue(type_name(value)))
    from scheduler_core.cel.evaluate.overload_choice import library_function

    return library_function(node)
