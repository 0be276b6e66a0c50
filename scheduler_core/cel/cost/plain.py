"""Plain expressions, which need no estimate: each node costs about one unit, and each text is read once.

Nearly all selectors are plain. The API limits the length of an expression, so a plain one is far below the
cost limit, whatever the device.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.cel.tree import Call, Literal, Name, Node, Presence, Select

_OF_ONE_UNIT: Final = frozenset({"_&&_", "_||_", "!_", "_[_]"})
_COMPARISONS: Final = frozenset({"_==_", "_!=_"})


def is_plain(node: Node) -> bool:
    """Whether an expression only reads values, compares them with literals, and joins the answers."""
    match node:
        case Literal() | Name():
            return True
        case Select(operand=operand) | Presence(operand=operand):
            return is_plain(operand)
        case Call(function=function, arguments=arguments):
            if function in _COMPARISONS:
                # The shorter side counts: a literal bounds it.
                if not any([isinstance(argument, Literal) for argument in arguments]):
                    return False
            elif function not in _OF_ONE_UNIT:
                return False
            return all([is_plain(argument) for argument in arguments])
        case _:
            return False
