"""The reader of plain expressions: comparisons of values of the device, joined by and, or and not.

Nearly all selectors are plain. Reading them here takes a fraction of the time of the parser and type checker,
which also need some milliseconds to start. The tree is the one that they would make. For any other text, a
wrong one included, the answer is None, and the parser and type checker read it.
Source: grammar, reserved words and balanced logical operators of CEL, as cel-cpp has them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from scheduler_core.cel.tree import BOOL, DEVICE, DYN, INT, STRING, Call, CelType, Literal, Name, Node, Select

_TEXT: Final = r"[ !#-&(-\[\]-~]*"  # printable, without quotes and backslashes
_TOKEN: Final = re.compile(
    r"[ \t\r\n\f]*(?:"
    rf"device\.attributes\[(?:\"(?P<domain>{_TEXT})\"|'(?P<domain_too>{_TEXT})')\]\.(?P<key>[A-Za-z_]\w*)"
    rf"|\"(?P<text>{_TEXT})\"|'(?P<text_too>{_TEXT})'"
    r"|(?P<symbol>&&|\|\||[!=]=|[!()])"
    r"|device\.(?P<field>driver|allowMultipleAllocations)(?!\w)"
    r"|(?P<truth>true|false)(?!\w)|(?P<number>[0-9]{1,18})(?![\w.])"
    r"|(?P<end>\Z))",
    re.ASCII,
)
_RESERVED: Final = frozenset({
    *("in", "true", "false", "null", "as", "break", "const", "continue", "else", "for", "function", "if"),
    *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
})  # fmt: skip
_MOST: Final = 64  # tokens; an expression with more is not plain
_DEEPEST: Final = 4
_DOMAIN: Final = CelType("map", (STRING, DYN))
_ATTRIBUTES: Final = Select(CelType("map", (STRING, _DOMAIN)), Name(DEVICE, "device"), "attributes")
_FIELDS: Final[dict[str, Node]] = {
    "driver": Select(STRING, Name(DEVICE, "device"), "driver"),
    "allowMultipleAllocations": Select(BOOL, Name(DEVICE, "device"), "allowMultipleAllocations"),
}
_TRUTHS: Final[dict[str, Node]] = {"true": Literal(BOOL, True), "false": Literal(BOOL, False)}
_EQUALITIES: Final = {"==": ("_==_", ("equals",)), "!=": ("_!=_", ("not_equals",))}
_JUNCTIONS: Final = {"&&": ("_&&_", ("logical_and",)), "||": ("_||_", ("logical_or",))}
_END: Final = ""
_Token = Node | str
"""A value, or a symbol."""


class _NotPlain(Exception):
    """The text is no plain expression."""


def plain(text: str) -> Node | None:
    """Return the checked tree of a plain expression, None for any other text."""
    try:
        return _Reader(_tokens(text)).whole()
    except _NotPlain:
        return None


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    position = 0
    while (match := _TOKEN.match(text, position)) is not None and len(found) < _MOST:
        position = match.end()
        kind = match.lastgroup
        match kind:
            case "symbol":
                found.append(match["symbol"])
            case "key":
                found.append(_attribute(match["domain"] or match["domain_too"] or "", match["key"]))
            case "text" | "text_too":
                found.append(Literal(STRING, match[kind]))
            case "field":
                found.append(_FIELDS[match["field"]])
            case "truth":
                found.append(_TRUTHS[match["truth"]])
            case "number":
                found.append(Literal(INT, int(match["number"])))
            case _:
                found.append(_END)
                return found
    raise _NotPlain


def _attribute(domain: str, key: str) -> Node:
    if key in _RESERVED:
        raise _NotPlain
    inside = Call(_DOMAIN, "_[_]", ("index_map",), (_ATTRIBUTES, Literal(STRING, domain)))
    return Select(DYN, inside, key)


class _Reader:
    """Reads tokens from the first to the end."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        """Read everything. Raises: _NotPlain where that is no condition."""
        node = self._junction("||")
        if self._tokens[self._next] != _END:
            raise _NotPlain
        return _condition(node)

    def _junction(self, symbol: str) -> Node:
        """Read terms joined by ``||``, or by ``&&``."""
        terms = [self._term(symbol)]
        while self._tokens[self._next] == symbol:
            self._next += 1
            terms.append(self._term(symbol))
        return terms[0] if len(terms) == 1 else _joined(list(map(_condition, terms)), symbol)

    def _term(self, symbol: str) -> Node:
        return self._junction("&&") if symbol == "||" else self._relation()

    def _relation(self) -> Node:
        left = self._value()
        symbol = self._tokens[self._next]
        if not isinstance(symbol, str) or symbol not in _EQUALITIES:
            return left
        self._next += 1
        right = self._value()
        if left.type != right.type and DYN not in (left.type, right.type):
            raise _NotPlain
        return Call(BOOL, *_EQUALITIES[symbol], (left, right))

    def _value(self) -> Node:
        token = self._tokens[self._next]
        self._next += 1
        match token:
            case "!":
                return Call(BOOL, "!_", ("logical_not",), (_condition(self._negated()),))
            case "(":
                return self._inside()
            case str():
                raise _NotPlain
            case _:
                return token

    def _negated(self) -> Node:
        """Read the operand of ``!``. Several ``!`` in a row are left to the parser, which drops pairs."""
        if self._tokens[self._next] == "!":
            raise _NotPlain
        return self._value()

    def _inside(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NotPlain
        node = self._junction("||")
        if self._tokens[self._next] != ")":
            raise _NotPlain
        self._next += 1
        self._depth -= 1
        return node


def _condition(node: Node) -> Node:
    """Return a node whose value is a bool, or of unknown type. Raises: _NotPlain for any other."""
    if node.type is BOOL or node.type is DYN:
        return node
    raise _NotPlain


def _joined(terms: list[Node], symbol: str) -> Node:
    """Join terms as a balanced tree."""
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    return Call(BOOL, *_JUNCTIONS[symbol], (_joined(terms[:half], symbol), _joined(terms[half:], symbol)))
